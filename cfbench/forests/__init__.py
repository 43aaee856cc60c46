"""Ensembles whose trees can be read: the contract, and exact answers about whole boxes of points.

A model that shows its trees as a :class:`cfbench.forests.structure.ForestStructure` gets all that is built on it:
the exact searcher, certified robustness, and the probability behind the K-robustness score.

Imports `space`, and `robustness` for how far perturbations reach. Start with `structure.py`, then `certificate.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.forests.certificate import Certificate as Certificate
    from cfbench.forests.certificate import Settled as Settled
    from cfbench.forests.certificate import k_certificate as k_certificate
    from cfbench.forests.parting import toy_forest as toy_forest
    from cfbench.forests.probability import Interval as Interval
    from cfbench.forests.probability import k_probability as k_probability
    from cfbench.forests.structure import Decision as Decision
    from cfbench.forests.structure import DecisionRule as DecisionRule
    from cfbench.forests.structure import ForestNodes as ForestNodes
    from cfbench.forests.structure import ForestStructure as ForestStructure
    from cfbench.forests.structure import ShowsForest as ShowsForest
    from cfbench.forests.structure import forest_of as forest_of
    from cfbench.forests.sweeps import entered as entered
    from cfbench.forests.sweeps import leads_along as leads_along
    from cfbench.forests.sweeps import leads_of as leads_of
    from cfbench.forests.sweeps import leads_of_pair as leads_of_pair
    from cfbench.forests.walks import class_of_cells as class_of_cells
    from cfbench.forests.walks import only_side as only_side
    from cfbench.forests.walks import winner_of as winner_of

__all__, __getattr__, __dir__ = public_names(__name__)
