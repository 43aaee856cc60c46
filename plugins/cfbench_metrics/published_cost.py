"""The relative cost as the published experiments computed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cfbench import FeatureSpace, ObjectiveComparison

if TYPE_CHECKING:
    import pandas as pd


class PublishedRelativeCost(ObjectiveComparison):
    """1 plus the published additional cost over the result's own loss.

    Decision: the published reading is kept next to the paper's definition, so that the two can be compared on the same
    results. It differs in four points.

    - The cost is divided by the loss of the result itself, also where the search accounted for robustness. The text
      divides by the ideal cost.
    - Setbacks of changed features are in raw units; their mean is over all draws.
    - The mean for kept features is over the invalidated draws alone, those that cannot be walked back included. It is
      0 where no draw is invalidated.
    - For both it is the sum of these two means, not a mean over joint draws.

    A changed category that is set back counts as a mismatch here, as in the text. The published experiments counted
    the random share of a mismatch that they had added to the category's code.

    Parameters
    ----------
    part, distribution, draws
        As those of the metric ``additional-cost``, whose values it needs.
    """

    part: Literal["c", "k", "ck"] = "k"
    distribution: Literal["uniform", "normal"] = "uniform"
    draws: int = Field(default=100, ge=1, le=1_000_000)

    def measures(self) -> tuple[str, ...]:
        """Name the mean costs whose sum it takes, and the share of draws that cannot be walked back."""
        shared = f"distribution={self.distribution},draws={self.draws}"
        of_c = (f"additional-cost[part=c,{shared},setbacks=raw]",)
        of_k = (f"additional-cost[part=k,{shared},over=invalidated]", f"invalidity[part=k,{shared}]")
        means = {"c": of_c, "k": of_k, "ck": of_c + of_k}[self.part]
        return (*means, f"unfixable[part={self.part},{shared}]")

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the ratio per point; NaN where either side found nothing or a mean cost was not measured."""
        import pandas as pd  # slow to load

        solved = points["found"] & reference["found"] & (points["loss"] > 0)
        ratio = pd.Series(1.0, index=points.index).where(solved)
        means = list(self.measures()[:-1])
        if self.part != "k":
            ratio += points[means.pop(0)] / points["loss"]
        if self.part != "c":
            over_invalidated, invalidity = means
            # A mean over invalidated draws is absent where there are none.
            ratio += points[over_invalidated].where(points[invalidity] != 0, 0.0) / points["loss"]
        return ratio
