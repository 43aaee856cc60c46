"""Public names of a package that are loaded when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any


def public_names(
    package: str, *, also: Sequence[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's `__all__`, `__getattr__` and `__dir__`; `also` are names that the package defines itself.

    The other names are those that its source imports for type checkers, one in each line, which Python never runs:
    ``from cfbench.MODULE import NAME as NAME``.
    """
    specification = importlib.util.find_spec(package)
    assert specification is not None
    source = specification.loader.get_source(package)  # type: ignore[union-attr] # a loader of source files
    imports = [line.split() for line in source.splitlines() if line.startswith("    from cfbench.")]
    module_of = {name: module for _, module, _, name, *_ in imports}
    public = [*sorted(module_of), *also]

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module_of[name]), name)

    return public, get, lambda: sorted(public)
