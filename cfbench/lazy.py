"""Public names of a package that are loaded when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def public_names(
    package: str, home: Mapping[str, Sequence[str]], *, also: Sequence[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's `__all__`, `__getattr__` and `__dir__`; `home` lists the names by their module in cfbench."""
    module_of = {name: module for module, names in home.items() for name in names}
    public = [*sorted(module_of), *also]

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"cfbench.{module_of[name]}"), name)

    return public, get, lambda: sorted(public)
