"""Conformance checks: what every entry of a plugin has to keep, ours first.

``cfbench check NAME`` runs them from the command line, :func:`parametrize_searchers` as tests of pytest. From Python
they are run by one function per kind of entry, such as :func:`check_searcher` and :func:`check_preset`.

Imports `running` and what is below it. Start with `check.py`, then `searchers.py`.
"""

from cfbench.testing.check import Finding, Report, Result
from cfbench.testing.datasets import check_dataset
from cfbench.testing.metrics import check_metric
from cfbench.testing.models import check_model
from cfbench.testing.objectives import check_objective
from cfbench.testing.searchers import check_searcher, parametrize_searchers
from cfbench.testing.suites import check_preset, check_report

__all__ = [
    "Finding",
    "Report",
    "Result",
    "check_dataset",
    "check_metric",
    "check_model",
    "check_objective",
    "check_preset",
    "check_report",
    "check_searcher",
    "parametrize_searchers",
]
