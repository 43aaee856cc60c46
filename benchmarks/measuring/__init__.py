"""What the benchmarks share: the models that are measured, CPU time, and the figures that come of it."""
