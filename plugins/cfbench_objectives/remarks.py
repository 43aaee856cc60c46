"""What users should know before a robustness objective runs."""

from __future__ import annotations

from cfbench import FeatureSpace
from cfbench.robustness import Reach


def nothing_to_fear(space: FeatureSpace) -> str:
    """Say that no feature of a space is ever perturbed; empty where one is."""
    if Reach.of(space).moves_anything:
        return ""
    return (
        "no feature is annotated with a perturbation, so every counterfactual is robust and the loss alone is "
        "minimised; annotate `perturbation` where the world may move"
    )
