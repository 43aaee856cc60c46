"""What a process has that results depend on: packages and the plan's entries, each with its version."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cfbench.harness.plan import Plan
from cfbench.registry import Registered, Registry

PACKAGES = ("counterfactual-bench", "numpy", "scipy", "scikit-learn")
"""Distributions whose versions must be the same wherever searches of one study run."""

EntryName = tuple[str, str]
"""(kind, name), as in ("searcher", "cogs")."""


@dataclass(frozen=True)
class Inventory:
    """Versions, as text.

    Parameters
    ----------
    packages : dict of str to str
        By name, Python's own among them; "absent" where there is none.
    entries : dict of (str, str) to str
        By kind and name: the entry's version and who brought it; entries that are not registered are left out.
    problems : tuple of str
        Why plugins are not registered.
    """

    packages: dict[str, str]
    entries: dict[EntryName, str]
    problems: tuple[str, ...] = ()

    def differences(self, other: Inventory) -> list[str]:
        """Return what `other` lacks or has in another version, a phrase each."""
        found = [
            f"{package} is {other.packages.get(package, 'absent')}, not {mine}"
            for package, mine in self.packages.items()
            if other.packages.get(package) != mine
        ]
        lacking = [f"{kind} {name}" for kind, name in self.entries if (kind, name) not in other.entries]
        if lacking:
            why = f" ({other.problems[0]})" if other.problems else ""
            found.append(f"it lacks {', '.join(lacking)}{why}")
        found += [
            f"{kind} {name} is {other.entries[kind, name]}, not {mine}"
            for (kind, name), mine in self.entries.items()
            if other.entries.get((kind, name), mine) != mine
        ]
        return found


def entries_of(plan: Plan) -> tuple[EntryName, ...]:
    """Return the entries that a plan's searches and measures ask for; data sets travel with the models."""
    names: dict[EntryName, None] = {}
    for cell in plan.cells:
        if not cell.skipped:
            names |= dict.fromkeys([("model", cell.model.name), ("searcher", cell.searcher.name)])
            names |= dict.fromkeys(("objective", objective.name) for objective in (cell.objective, *cell.judged))
    names |= dict.fromkeys(("metric", metric.name) for metric in plan.metrics)
    return tuple(names)


def take_inventory(registry: Registry, entries: Iterable[EntryName]) -> Inventory:
    """Look up what this process has."""
    kinds: Mapping[str, Mapping[str, Registered[Any]]] = {
        "model": registry.models,
        "searcher": registry.searchers,
        "objective": registry.objectives,
        "metric": registry.metrics,
    }
    found = {(kind, name): _described(kinds[kind][name]) for kind, name in entries if name in kinds[kind]}
    packages = {"Python": ".".join(platform.python_version_tuple()[:2]), **{name: _version(name) for name in PACKAGES}}
    return Inventory(packages, found, tuple(str(problem) for problem in registry.problems))


def _described(registered: Registered[Any]) -> str:
    origin = f" of {registered.distribution} {registered.distribution_version}" if registered.distribution else ""
    return f"version {registered.entry.version}{origin}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
