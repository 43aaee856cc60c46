"""How far a result is from the cheapest counterfactual, in words: what a searcher reports as proven."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cfbench.api.explanation import Explanation

SLACK = 1e-9
"""A result may be below a bound by so much of it: sums of costs round."""


def bounds(explanation: Explanation) -> list[str]:
    """Say in one sentence what the figures ``lower_bound`` and ``proven`` mean for a result.

    Nothing is said where the searcher reports neither. Of what it claims, a bound above the judge's own value for the
    result is known to be wrong, and said to be.
    """
    by, lower = explanation.searcher, explanation.figures.get("lower_bound", math.nan)
    what = "cheaper" if explanation.objective == "none" else "of a lower objective value"
    least = f"{'costs' if explanation.objective == 'none' else 'has an objective value of'} less than {lower:.4g}"
    if not explanation.found:
        return [f"Lower bound by {by}: no counterfactual {least}."] if lower > 0 else []
    value = explanation.objective_value
    if lower > value * (1 + SLACK):
        return [f"{by} reports a lower bound of {lower:.4g}, above the result's own value: the bound is wrong."]
    if explanation.figures.get("proven") == 1:
        return [f"Proven by {by}: no counterfactual is {what}."]
    if not lower > 0:
        return [] if math.isnan(lower) else [f"Not proven by {by}: there may be counterfactuals that are {what}."]
    return [
        f"Not proven to be the optimum, but within {(value - lower) / lower:.2%} of it: no counterfactual {least}, the "
        f"lower bound of {by}."
    ]
