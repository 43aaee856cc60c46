"""The feature space and the data set: features, intervals, categories, constraints, distances, folds.

Imports nothing of cfbench but errors and digests. Start with `space.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfbench.space.space import FloatArray as FloatArray
    from cfbench.space.space import IntArray as IntArray

_HOME = {
    "space.space": ["FloatArray", "IntArray"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - computed from the table above, which a test checks


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cfbench.space' has no attribute {name!r}")
    return getattr(importlib.import_module(f"cfbench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
