"""An explanation as a picture: how far features change, and which kept features threaten the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cfbench.errors import CfbenchError
from cfbench.explaining.perturbation_effects import written
from cfbench.space.space import Kind

if TYPE_CHECKING:
    from cfbench.explaining.explanation import Explanation

WIDTH = 6.4
"""Width of a panel in inches."""


def plot_explanation(explanation: Explanation) -> NDArray[np.object_]:
    """Draw an explanation with matplotlib and return its axes, shape (1,), or (2,) with perturbations."""
    import matplotlib.pyplot as plt  # slow to load

    if explanation.z is None or not explanation.found:
        raise CfbenchError("there is nothing to draw: no counterfactual was found")
    space = explanation.space
    changed = [i for i in range(space.d) if explanation.x[i] != explanation.z[i]]
    kept = [] if explanation.perturbations is None else list(explanation.perturbations.kept)
    panels = 2 if kept else 1
    height = 1.6 + 0.4 * max(len(changed), len(kept))
    _, grid = plt.subplots(1, panels, squeeze=False, figsize=(WIDTH * panels, height), layout="constrained")
    axes = grid[0, 0]
    for place, i in enumerate(changed):
        feature, before, after = space.features[i], explanation.x[i], explanation.z[i]
        numerical = feature.kind is Kind.NUMERICAL
        share = (after - before) / (feature.upper - feature.lower) if numerical else 1.0
        colour = ("tab:blue" if share > 0 else "tab:orange") if numerical else "tab:gray"
        axes.barh(place, share, color=colour)
        words = f"{' to '.join(written(feature, before, after))} {feature.unit}".rstrip()
        axes.annotate(
            words, (max(share, 0.0), place), (4, 0), textcoords="offset points", va="center", fontsize="small"
        )
    axes.set(
        title=f"{explanation.class_before} becomes {explanation.class_after} (loss {explanation.loss:.3f})",
        xlabel="change as a share of the interval; a category counts 1",
        xlim=(-1.05, 1.7),
    )
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.set_yticks(range(len(changed)), [space.names[i] for i in changed])
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.invert_yaxis()
    if kept:
        axes = grid[0, 1]
        axes.barh(range(len(kept)), [one.lost / one.n for one in kept], color="tab:red")
        axes.set(
            title="What is kept, perturbed alone", xlabel="share of perturbations that lose the class", xlim=(0, 1)
        )
        axes.set_yticks(range(len(kept)), [space.names[one.feature] for one in kept])
        axes.invert_yaxis()
    drawn: NDArray[np.object_] = grid[0]
    return drawn
