"""The loss of a result and its parts, as the judge computed them when the search was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from cfbench import CellContext, CounterfactualMetric

if TYPE_CHECKING:
    import pandas as pd


class JudgedColumn(CounterfactualMetric):
    """A column of the record that the judge filled in; absent where a search found no counterfactual."""

    column: ClassVar[str]

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the column as float64."""
        return searches[self.column].astype("float64")


class Loss(JudgedColumn):
    """The base loss (Eq. 9) of the result, whatever objective was searched with; its class term is 0."""

    column = "loss"


class Gower(JudgedColumn):
    """Gower's distance (Eq. 10) of the result from the factual point, in [0, 1]."""

    column = "gower"


class L0(JudgedColumn):
    """How many features the result changes; a numerical feature counts where it differs at all."""

    column = "l0"


class Cost(JudgedColumn):
    """Half of Gower's distance plus half of the share of changed features: Eq. 9 without its class term."""

    column = "cost"
