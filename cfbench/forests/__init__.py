"""Forests whose trees can be read: the contract, and exact answers about whole boxes of points.

A model that shows its trees as a :class:`cfbench.forests.structure.ForestStructure` gets all that is built on it:
the exact searcher, certified robustness, and the probability behind the K-robustness score.

Imports `space`, and `robustness` for how far perturbations reach. Start with `structure.py`, then `certificate.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfbench.forests.certificate import Certificate as Certificate
    from cfbench.forests.certificate import Settled as Settled
    from cfbench.forests.certificate import k_certificate as k_certificate
    from cfbench.forests.parting import toy_forest as toy_forest
    from cfbench.forests.probability import Interval as Interval
    from cfbench.forests.probability import k_probability as k_probability
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

_HOME = {
    "forests.certificate": ["Certificate", "Settled", "k_certificate"],
    "forests.parting": ["toy_forest"],
    "forests.probability": ["Interval", "k_probability"],
    "forests.structure": ["ForestNodes", "ForestStructure", "ShowsForest", "forest_of"],
    "forests.sweeps": ["entered", "leads_along", "leads_of", "leads_of_pair"],
    "forests.walks": ["class_of_cells", "only_side"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - computed from the table above, which a test checks


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cfbench.forests' has no attribute {name!r}")
    return getattr(importlib.import_module(f"cfbench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
