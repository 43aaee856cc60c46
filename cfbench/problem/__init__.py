"""What one search is: the problem that a searcher sees, the oracle behind it, the meter, the trace and the outcome.

Imports `space` and `robustness`. Start with `problem.py`.
"""
