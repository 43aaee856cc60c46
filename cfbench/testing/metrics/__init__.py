"""The checks of metrics."""
