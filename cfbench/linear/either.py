"""Certificates and probabilities for whichever structure a model shows, trees or weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.errors import UnavailableError
from cfbench.forests.structure import ForestStructure, ShowsForest
from cfbench.linear.structure import LinearStructure, ShowsLinear
from cfbench.space.space import FeatureSpace, FloatArray

if TYPE_CHECKING:
    from cfbench.forests.certificate import Certificate
    from cfbench.forests.probability import Interval

Structure = ForestStructure | LinearStructure
"""What certificates and exact probabilities can be worked out from."""


def structure_of(model: object) -> Structure:
    """Return the structure that a fitted model shows.

    Raises
    ------
    UnavailableError
        If it shows neither a forest nor a linear structure, or a forest that cannot be laid open.
    """
    if isinstance(model, ShowsForest):
        return model.forest_structure()
    if isinstance(model, ShowsLinear):
        return model.linear_structure()
    raise UnavailableError(
        f"the model, a {type(model).__name__}, shows no structure; a model does that by a method `forest_structure()` "
        "or `linear_structure()`"
    )


def certificate_of(
    structure: Structure, space: FeatureSpace, x: FloatArray, z: FloatArray, target: int, *, seconds: float = 1.0
) -> Certificate:
    """Return `cfbench.forests.k_certificate` or `cfbench.linear.k_certificate`; `seconds` limits the former."""
    from cfbench.forests.certificate import k_certificate as of_forest  # it loads the compiler
    from cfbench.linear.robustness import k_certificate as of_linear

    if isinstance(structure, LinearStructure):
        return of_linear(structure, space, x, z, target)
    return of_forest(structure, space, x, z, target, seconds=seconds)


def probability_of(
    structure: Structure,
    space: FeatureSpace,
    x: FloatArray,
    z: FloatArray,
    target: int,
    *,
    width: float = 0.01,
    seconds: float | None = None,
) -> Interval:
    """Return `cfbench.forests.k_probability` or `cfbench.linear.k_probability`."""
    from cfbench.forests.probability import k_probability as of_forest  # it loads the compiler
    from cfbench.linear.robustness import k_probability as of_linear

    if isinstance(structure, LinearStructure):
        return of_linear(structure, space, x, z, target, width=width, seconds=seconds)
    return of_forest(structure, space, x, z, target, width=width, seconds=seconds)
