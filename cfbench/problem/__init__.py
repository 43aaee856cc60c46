"""What one search is: the problem that a searcher sees, the oracle behind it, the meter, the trace and the outcome.

Imports `space` and `robustness`. Start with `problem.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.problem.access import Gradients as Gradients
    from cfbench.problem.oracle import NeighbourOracle as NeighbourOracle
    from cfbench.problem.oracle import Oracle as Oracle
    from cfbench.problem.outcome import Status as Status
    from cfbench.problem.problem import SearchBudget as SearchBudget
    from cfbench.problem.problem import SeparableTerm as SeparableTerm
    from cfbench.problem.problem import Term as Term

__all__, __getattr__, __dir__ = public_names(__name__)
