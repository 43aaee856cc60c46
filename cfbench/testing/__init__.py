"""Conformance checks: what every searcher, model, objective and metric has to keep, ours first.

``cfbench check NAME`` runs them from the command line, :func:`check_searcher`, :func:`check_model`,
:func:`check_objective` and :func:`check_metric` from Python, and :func:`parametrize_searchers` as tests of pytest.
"""

from cfbench.testing.check import Finding, Report, Result
from cfbench.testing.metrics import check_metric
from cfbench.testing.models import check_model
from cfbench.testing.objectives import check_objective
from cfbench.testing.searchers import check_searcher, parametrize_searchers

__all__ = [
    "Finding",
    "Report",
    "Result",
    "check_metric",
    "check_model",
    "check_objective",
    "check_searcher",
    "parametrize_searchers",
]
