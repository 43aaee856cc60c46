"""Linear models whose weights can be read: the contract, and exact answers about whole boxes of points.

A model that shows its weights as a :class:`cfbench.linear.structure.LinearStructure` gets all that is built on it: the
exact searcher `exact-linear`, certified robustness, and the probability behind the K-robustness score.

Imports `space`, `robustness` for how far perturbations reach, and `forests` for the form of the answers. Start with
`structure.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.linear.either import Structure as Structure
    from cfbench.linear.either import certificate_of as certificate_of
    from cfbench.linear.either import probability_of as probability_of
    from cfbench.linear.either import structure_of as structure_of
    from cfbench.linear.robustness import k_certificate as k_certificate
    from cfbench.linear.robustness import k_probability as k_probability
    from cfbench.linear.structure import NUMBER as NUMBER
    from cfbench.linear.structure import LinearStructure as LinearStructure
    from cfbench.linear.structure import ShowsLinear as ShowsLinear
    from cfbench.linear.structure import linear_of as linear_of

__all__, __getattr__, __dir__ = public_names(__name__)
