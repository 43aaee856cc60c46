"""What is proven about a counterfactual on a forest, in words for a person to read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cfbench.api.explanation import shown_value
from cfbench.errors import UnavailableError
from cfbench.forests.certificate import Settled, k_certificate
from cfbench.forests.structure import forest_of
from cfbench.space import FeatureSpace, FloatArray, IntArray

SECONDS = 2.0


def proven_of_kept(
    model: object,
    space: FeatureSpace,
    x: FloatArray,
    z: FloatArray,
    target: int,
    predict: Callable[[FloatArray], IntArray],
) -> tuple[str, ...]:
    """Say whether any perturbation of what a counterfactual keeps can undo it, or why that is not settled.

    Parameters
    ----------
    model : object
        The fitted model.
    space : FeatureSpace
    x, z : ndarray of float64, shape (d,)
        The factual point and its counterfactual.
    target : int
    predict : callable
        From rows, shape (n, d), to their classes; a refuting point is held against it.
    """
    try:
        structure = forest_of(model)
    except UnavailableError:
        return ("Not proven for all perturbations of what you keep: that needs a forest, and the model shows none.",)
    certificate = k_certificate(structure, space, x, z, target, seconds=SECONDS)
    if certificate.verdict is Settled.CERTIFIED:
        return ("Proven: no perturbation of what you keep can undo this.",)
    point = certificate.point
    if point is None:
        return (f"Whether any perturbation of what you keep can undo this was not settled in {SECONDS:g} s.",)
    if predict(point[np.newaxis])[0] == target:
        return ()  # the structure is not the model's
    moved = []
    for i in np.flatnonzero(point != z).tolist():
        feature, value = space.features[i], shown_value(space.features[i], float(point[i]))
        number = f"{value:.6g} {feature.unit}".strip() if isinstance(value, float) else value
        moved.append(f"{feature.name} {number}")
    return (f"A perturbation of what you keep can undo this; this one would: {', '.join(moved)}.",)
