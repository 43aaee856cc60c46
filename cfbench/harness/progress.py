"""How far a cell is: which searches it asks for, which the record holds, which are left."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from cfbench.harness.plan import Cell
from cfbench.harness.standing import SearchId, wanted_searches
from cfbench.harness.worker import Prepared


@dataclass(slots=True)
class CellProgress:
    """The searches of a cell in this run.

    Parameters
    ----------
    cell : Cell
    done : frozenset of (int, int)
        (point, repetition) of the searches in the record; it may hold more than is asked for.
    eligible : int
        Eligible points of the fold, known when the cell has started.
    left : set of (int, int)
        Searches still to run, known when the cell has started; before that nothing is kept here, since as many cells
        wait as a study has.
    fingerprint : str
        Of the fitted model, known when the cell has started.
    """

    cell: Cell
    done: frozenset[SearchId]
    eligible: int = 0
    left: set[SearchId] = field(init=False)
    fingerprint: str = ""

    @property
    def total(self) -> int:
        """Searches that the study asks for, known when the cell has started."""
        return len(wanted_searches(self.cell, self.eligible))

    def start(self, prepared: Prepared, recorded: pd.DataFrame) -> str:
        """Take note of the model, and say what speaks against adding to the recorded searches; empty: nothing."""
        self.eligible = len(prepared.row_ids)
        self.fingerprint = prepared.fingerprint
        self.left = wanted_searches(self.cell, self.eligible) - self.done
        others = sorted(set(recorded["model_fingerprint"]) - {prepared.fingerprint})
        if others and self.left:
            return (
                f"its recorded searches asked the model with fingerprint {others[0]}, the model fitted here has "
                f"{prepared.fingerprint}: other versions of the libraries train another model. Share fitted models, or "
                "use another results directory"
            )
        return ""
