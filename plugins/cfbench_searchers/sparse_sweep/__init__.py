"""Sparse sweep: structured sweeps over few features at a time; `order` has the steps."""
