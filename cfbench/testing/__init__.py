"""Conformance checks: what every searcher has to keep, ours first.

``cfbench check NAME`` runs them from the command line, :func:`check_searcher` from Python, and
:func:`parametrize_searchers` as tests of pytest.
"""

from cfbench.testing.check import Finding, Report, Result
from cfbench.testing.searchers.run import check_searcher, parametrize_searchers

__all__ = ["Finding", "Report", "Result", "check_searcher", "parametrize_searchers"]
