"""What one search is: the problem that a searcher sees, the oracle behind it, the meter, the trace and the outcome.

Imports `space` and `robustness`. Start with `problem.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfbench.problem.oracle import NeighbourOracle as NeighbourOracle
    from cfbench.problem.oracle import Oracle as Oracle
    from cfbench.problem.outcome import Status as Status
    from cfbench.problem.problem import SearchBudget as SearchBudget
    from cfbench.problem.problem import SeparableTerm as SeparableTerm
    from cfbench.problem.problem import Term as Term

_HOME = {
    "problem.oracle": ["NeighbourOracle", "Oracle"],
    "problem.outcome": ["Status"],
    "problem.problem": ["SearchBudget", "SeparableTerm", "Term"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - computed from the table above, which a test checks


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cfbench.problem' has no attribute {name!r}")
    return getattr(importlib.import_module(f"cfbench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
