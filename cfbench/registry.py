"""Everything that is registered: a value built from the plugins found, never a global.

A plugin that is broken, or partly broken, is reported and costs only what is broken in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from cfbench.discovery import given, installed, is_file_name, named
from cfbench.entries import DatasetEntry, Entry, MetricEntry, ModelEntry, ObjectiveEntry, SearcherEntry
from cfbench.errors import PluginError, UnknownNameError
from cfbench.loading import Candidate, PluginProblem, guarded, load
from cfbench.paths import at_home
from cfbench.plugin import REGISTERING, REPORTING, LoadedPlugin

__all__ = ["Complaint", "PluginProblem", "Registered", "Registry", "RegistryOptions", "build_registry"]

E = TypeVar("E", bound=Entry)

_OF_YOUR_OWN = "What a plugin of your own brings is known where it is named: --plugin FILE.py."


@dataclass(frozen=True)
class Registered(Generic[E]):
    """An entry with its origin.

    Parameters
    ----------
    entry : Entry
    distribution, distribution_version : str
        Who brought it; empty for plugins that are not installed.
    plugin : str
        Its entry point's name, or the module or file that the user named.
    """

    entry: E
    distribution: str
    distribution_version: str
    plugin: str


@dataclass(frozen=True)
class RegistryOptions:
    """All that a registry is built from beside the installed distributions; a worker rebuilds it from these.

    Parameters
    ----------
    plugins : tuple of str
        Modules (``package.module``) and paths of .py files to register as well.
    folders : tuple of Path
        Data-set folders that the user named.
    strict : bool
        Whether a plugin's problem is an error.
    """

    plugins: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    strict: bool = False


@dataclass(frozen=True)
class Complaint:
    """What a reporter raised when it was told of an event."""

    reporter: str
    message: str


class Registry:
    """What is registered, by kind and name.

    Parameters
    ----------
    options : RegistryOptions
        What it was built from, with absolute paths, so that a process with another working directory builds the same.
    plugins : sequence of LoadedPlugin
        In the order in which they may take names.
    entries : mapping of type of Entry to (mapping of str to Registered)
        Every kind's entries by name.
    problems : sequence of PluginProblem
        What is not registered, and why.
    in_process : sequence of str
        Plugins with entries that were given as objects: a process that builds a registry from `options` lacks them.
    """

    def __init__(
        self,
        options: RegistryOptions,
        plugins: Sequence[LoadedPlugin],
        entries: Mapping[type[Entry], Mapping[str, Registered[Any]]],
        problems: Sequence[PluginProblem],
        in_process: Sequence[str] = (),
    ) -> None:
        self.options = options
        self.datasets: Mapping[str, Registered[DatasetEntry]] = entries[DatasetEntry]
        self.models: Mapping[str, Registered[ModelEntry]] = entries[ModelEntry]
        self.searchers: Mapping[str, Registered[SearcherEntry]] = entries[SearcherEntry]
        self.objectives: Mapping[str, Registered[ObjectiveEntry]] = entries[ObjectiveEntry]
        self.metrics: Mapping[str, Registered[MetricEntry]] = entries[MetricEntry]
        listening = [plugin for plugin in plugins if plugin.implements(*REPORTING.values())]
        self.reporter_plugins: Mapping[str, LoadedPlugin] = {one.candidate.plugin: one for one in listening}
        self.reporters: Mapping[str, object] = {name: one.plugin for name, one in self.reporter_plugins.items()}
        self.problems = tuple(problems)
        self.in_process = tuple(in_process)

    def dataset(self, name: str) -> Registered[DatasetEntry]:
        """Return the data set of that name, or the one in the user's folder of that path.

        Raises
        ------
        UnknownNameError
            As all look-ups do, naming the known ones, the nearest first.
        """
        if name not in self.datasets:
            path = at_home(Path(name)).resolve()
            for registered in self.datasets.values():
                if registered.entry.folder is not None and registered.entry.folder.resolve() == path:
                    return registered
        return self._find("data set", name, self.datasets)

    def model(self, name: str) -> Registered[ModelEntry]:
        """Return the model of that name."""
        return self._find("model", name, self.models)

    def searcher(self, name: str) -> Registered[SearcherEntry]:
        """Return the searcher of that name."""
        return self._find("searcher", name, self.searchers)

    def objective(self, name: str) -> Registered[ObjectiveEntry]:
        """Return the objective of that name."""
        return self._find("objective", name, self.objectives)

    def metric(self, name: str) -> Registered[MetricEntry]:
        """Return the metric of that name."""
        return self._find("metric", name, self.metrics)

    def notify(self, event: object, only: str | None = None) -> list[Complaint]:
        """Tell the reporters of an event, one at a time; what one raises reaches neither the others nor the run.

        Parameters
        ----------
        event : RunStarted, CellStarted, SearchFinished, CellFinished or RunFinished
        only : str, optional
            The one reporter to tell.

        Returns
        -------
        list of Complaint
            One a reporter that raised.
        """
        hook = REPORTING[type(event)]
        if only is not None and only not in self.reporter_plugins:
            raise UnknownNameError("reporter", only, self.reporter_plugins, self._hint())
        complaints = []
        for name in self.reporter_plugins if only is None else [only]:
            try:
                guarded(partial(self.reporter_plugins[name].call, hook, event=event))
            except PluginError as error:
                complaints.append(Complaint(name, str(error)))
        return complaints

    def _find(self, kind: str, name: str, known: Mapping[str, Registered[E]]) -> Registered[E]:
        if name not in known:
            raise UnknownNameError(kind, name, known, self._hint() or ("" if kind == "data set" else _OF_YOUR_OWN))
        return known[name]

    def _hint(self) -> str:
        if not self.problems:
            return ""
        return f"Not everything could be registered: {self.problems[0]} (`cfbench plugins` lists all problems.)"


def build_registry(options: RegistryOptions = RegistryOptions(), *, objects: Sequence[object] = ()) -> Registry:
    """Load every plugin, each on its own, and collect what they register.

    Names are taken in order: ours, other distributions' by their names, then `options.plugins`, then `objects`; the
    first keeps a name and the later one is reported.

    Parameters
    ----------
    options : RegistryOptions
    objects : sequence of object
        Plugin modules, objects or classes given from Python.

    Raises
    ------
    PluginError
        If a module or file in `options.plugins` does not exist; with `options.strict`, if there is any problem.
    """
    options = replace(
        options,
        plugins=tuple(str(at_home(Path(name)).resolve()) if is_file_name(name) else name for name in options.plugins),
        folders=tuple(at_home(folder).resolve() for folder in options.folders),
    )
    candidates, problems = installed()
    plugins: list[LoadedPlugin] = []
    entries: dict[type[Entry], dict[str, Registered[Any]]] = {kind: {} for kind in REGISTERING.values()}
    local = list(given(objects))
    in_process: list[str] = []
    for candidate in [*candidates, *named(options.plugins), *local]:
        try:
            plugin = LoadedPlugin(candidate, load(candidate))
        except PluginError as error:
            problems.append(candidate.problem(str(error)))
            continue
        plugins.append(plugin)
        reasons = list(plugin.objections)
        before = sum(len(taken) for taken in entries.values())
        for hook, kind in REGISTERING.items():
            reasons += _collect(plugin, candidate, hook, options.folders, entries[kind])
        nothing = before == sum(len(taken) for taken in entries.values())
        listens = plugin.implements(*REPORTING.values()) or plugin.reads_folders
        if candidate in local and not nothing:
            in_process.append(candidate.plugin)
        if nothing and not listens and not reasons:
            reasons.append("it registers nothing; implement a hook that yields entries, marked with @cfbench.hookimpl")
        problems += [candidate.problem(reason) for reason in reasons]
    if options.strict and problems:
        listing = "\n".join(f"- {problem}" for problem in problems)
        raise PluginError(f"{len(problems)} problem(s) with plugins, and --strict allows none:\n{listing}")
    return Registry(options, plugins, entries, problems, in_process)


def _collect(
    plugin: LoadedPlugin, candidate: Candidate, hook: str, folders: Sequence[Path], taken: dict[str, Registered[Any]]
) -> list[str]:
    """Add to `taken` what a registering hook yields; return what is wrong with the rest."""
    entries, reasons = plugin.entries(hook, folders)
    for entry in entries:
        if entry.name in taken:
            holder = taken[entry.name]
            origin = f" of {holder.distribution} {holder.distribution_version}" if holder.distribution else ""
            reasons.append(
                f"{type(entry).__name__} {entry.name!r}: the name is taken by plugin {holder.plugin}{origin}; "
                "give it another"
            )
        else:
            taken[entry.name] = Registered(entry, candidate.distribution, candidate.version, candidate.plugin)
    return reasons
