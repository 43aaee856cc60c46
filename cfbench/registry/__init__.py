"""What can be registered and how it is found: entries, contracts for plugin authors, hooks, discovery.

Imports `space`, `problem` and `robustness`. Start with `contracts.py`, then `entries.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfbench.registry.contracts import Settings as Settings
    from cfbench.registry.events import CellFinished as CellFinished
    from cfbench.registry.events import CellInfo as CellInfo
    from cfbench.registry.events import CellStarted as CellStarted
    from cfbench.registry.events import RunFinished as RunFinished
    from cfbench.registry.events import RunStarted as RunStarted
    from cfbench.registry.events import SearchFinished as SearchFinished

_HOME = {
    "registry.contracts": ["Settings"],
    "registry.events": ["CellFinished", "CellInfo", "CellStarted", "RunFinished", "RunStarted", "SearchFinished"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - computed from the table above, which a test checks


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cfbench.registry' has no attribute {name!r}")
    return getattr(importlib.import_module(f"cfbench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
