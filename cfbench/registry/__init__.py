"""What can be registered and how it is found: entries, contracts for plugin authors, hooks, discovery.

Imports `space`, `problem` and `robustness`. Start with `contracts.py`, then `entries.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.registry.contracts import FittedModel as FittedModel
    from cfbench.registry.contracts import SearchFunction as SearchFunction
    from cfbench.registry.contracts import Settings as Settings
    from cfbench.registry.events import CellFinished as CellFinished
    from cfbench.registry.events import CellInfo as CellInfo
    from cfbench.registry.events import CellStarted as CellStarted
    from cfbench.registry.events import RunFinished as RunFinished
    from cfbench.registry.events import RunStarted as RunStarted
    from cfbench.registry.events import SearchFinished as SearchFinished

__all__, __getattr__, __dir__ = public_names(__name__)
