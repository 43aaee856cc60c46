"""Plugins given from Python: what any process can load by a name, and what lives in this process alone."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from cfbench.entries import DatasetEntry, Entry, MetricEntry, ModelEntry, ObjectiveEntry, SearcherEntry
from cfbench.errors import PluginError
from cfbench.hookspecs import hookimpl
from cfbench.registry import Registry, RegistryOptions, build_registry


def registry_with(plugins: object, folders: Iterable[Path] = (), *, strict: bool = False) -> Registry:
    """Build the registry with plugins that the caller gives.

    Parameters
    ----------
    plugins : object or iterable of object
        Names of modules, paths of .py files, modules, entries, and objects with hooks.
    folders : iterable of Path
        Data-set folders.
    strict : bool
        Whether a plugin's problem is an error.

    Raises
    ------
    PluginError
        If a plugin cannot be one, or a name or path leads nowhere.
    """
    names: list[str] = []
    objects: list[object] = []
    entries: list[Entry] = []
    for plugin in _each(plugins):
        if isinstance(plugin, (str, Path)):
            names.append(str(plugin))
        elif isinstance(plugin, ModuleType) and _can_be_imported(plugin):
            names.append(plugin.__name__)
        elif isinstance(plugin, Entry):
            entries.append(plugin)
        elif inspect.isroutine(plugin):
            raise PluginError(
                f"the function {getattr(plugin, '__name__', plugin)} is no plugin; give it with a name: "
                "SearcherEntry(name=..., searcher=...), or a module whose hooks register it"
            )
        else:
            objects.append(plugin)
    if entries:
        objects.append(_Entries(entries))
    options = RegistryOptions(plugins=tuple(names), folders=tuple(folders), strict=strict)
    return build_registry(options, objects=objects)


def _each(plugins: object) -> list[object]:
    """Take one plugin for a list of one."""
    if isinstance(plugins, (str, Path, ModuleType)) or not isinstance(plugins, Iterable):
        return [plugins]
    return list(plugins)


def _can_be_imported(module: ModuleType) -> bool:
    """Whether another process that imports the module's name gets this module: not so for a script or a notebook."""
    if module.__name__ == "__main__":
        return False
    try:
        found = importlib.util.find_spec(module.__name__)
    except (ImportError, ValueError):
        return False
    return found is not None and found.origin == getattr(module, "__file__", None) and found.origin is not None


class _Entries:
    """A plugin made of entries that were given without one."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self.__name__ = ", ".join(entry.name for entry in entries)

    @hookimpl
    def cfbench_register_datasets(self) -> Iterator[DatasetEntry]:
        return (entry for entry in self._entries if isinstance(entry, DatasetEntry))

    @hookimpl
    def cfbench_register_models(self) -> Iterator[ModelEntry]:
        return (entry for entry in self._entries if isinstance(entry, ModelEntry))

    @hookimpl
    def cfbench_register_searchers(self) -> Iterator[SearcherEntry]:
        return (entry for entry in self._entries if isinstance(entry, SearcherEntry))

    @hookimpl
    def cfbench_register_objectives(self) -> Iterator[ObjectiveEntry]:
        return (entry for entry in self._entries if isinstance(entry, ObjectiveEntry))

    @hookimpl
    def cfbench_register_metrics(self) -> Iterator[MetricEntry]:
        return (entry for entry in self._entries if isinstance(entry, MetricEntry))
