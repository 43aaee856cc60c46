"""Perturbations of a counterfactual: how far they reach, setbacks (C), neighbours (K), random draws.

Imports `space`. Start with `reach.py`; the definitions are those of Virgolin and Fracaros.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.robustness.draws import descended_key as descended_key
    from cfbench.robustness.draws import uniform_share as uniform_share
    from cfbench.robustness.neighbours import KNeighbours as KNeighbours
    from cfbench.robustness.neighbours import perturbed_value as perturbed_value
    from cfbench.robustness.random_perturbations import PerturbedPart as PerturbedPart
    from cfbench.robustness.random_perturbations import RandomPerturbations as RandomPerturbations
    from cfbench.robustness.reach import Distribution as Distribution
    from cfbench.robustness.reach import Reach as Reach
    from cfbench.robustness.setbacks import Setbacks as Setbacks

__all__, __getattr__, __dir__ = public_names(__name__)
