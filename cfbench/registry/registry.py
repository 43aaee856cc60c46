"""Everything that is registered: a value built from the plugins that were found, never a global.

A plugin that is broken, or partly broken, is reported and costs only what is broken in it.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

import pluggy

from cfbench.errors import PluginError, UnknownNameError, nearest_first
from cfbench.files import at_home
from cfbench.registry import hookspecs
from cfbench.registry.contracts import ModelFamily
from cfbench.registry.discovery import Candidate, PluginProblem, given, guarded, installed, is_file_name, load, named
from cfbench.registry.entries import (
    DatasetEntry,
    Entry,
    MetricEntry,
    ModelEntry,
    ObjectiveEntry,
    PresetEntry,
    ReportEntry,
    SearcherEntry,
)
from cfbench.registry.events import CellFinished, CellStarted, RunFinished, RunStarted, SearchFinished
from cfbench.registry.hookspecs import PROJECT, hookimpl
from cfbench.registry.own_models import FORMS, entry_of, is_reference, resolved

REGISTERING: Mapping[str, type[Entry]] = {
    "cfbench_register_datasets": DatasetEntry,
    "cfbench_register_models": ModelEntry,
    "cfbench_register_searchers": SearcherEntry,
    "cfbench_register_objectives": ObjectiveEntry,
    "cfbench_register_metrics": MetricEntry,
    "cfbench_register_presets": PresetEntry,
    "cfbench_register_reports": ReportEntry,
}
"""Hooks that return entries, and the kind that each returns."""

REPORTING: Mapping[type, str] = {
    RunStarted: "cfbench_run_started",
    CellStarted: "cfbench_cell_started",
    SearchFinished: "cfbench_search_finished",
    CellFinished: "cfbench_cell_finished",
    RunFinished: "cfbench_run_finished",
}
"""Events, and the hook that receives each."""

_PREFIX = f"{PROJECT}_"


class LoadedPlugin:
    """A plugin with a pluggy manager of its own.

    pluggy calls all plugins of a manager in one go, stops at the first that raises, and drops results of None; one
    manager per plugin keeps a failure, and an empty result, with the plugin it belongs to.
    """

    def __init__(self, candidate: Candidate, plugin: object) -> None:
        self.candidate = candidate
        self.plugin = plugin
        self.objections: list[str] = []  # what is wrong with its hooks; those are not called
        self.reads_folders = False
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._implemented: dict[str, int] = {}
        for attribute in dir(plugin):
            objection = self._adopt(attribute)
            if objection:
                self.objections.append(objection)

    def implements(self, *hooks: str) -> bool:
        """Whether it implements any of `hooks`."""
        return any(hook in self._implemented for hook in hooks)

    def call(self, hook: str, **arguments: object) -> list[object]:
        """Call its implementations of `hook`; an implementation takes those of `arguments` that it names."""
        answers: list[object] = getattr(self._manager.hook, hook)(**arguments)
        return answers

    def entries(self, hook: str, folders: Sequence[Path]) -> tuple[list[Entry], list[str]]:
        """Return the valid entries of a registering hook, and what is wrong with the others."""
        if not self.implements(hook):
            return [], []
        arguments = {"folders": folders} if "folders" in _parameters(getattr(hookspecs, hook)) else {}
        try:
            answers = guarded(lambda: self.call(hook, **arguments))
        except PluginError as error:
            return [], [f"{hook} failed: {error}"]
        entries: list[Entry] = []
        reasons: list[str] = []
        if len(answers) < self._implemented[hook]:
            reasons.append(f"{hook} returned None; it must yield entries, or return a list of them")
        for answer in answers:
            reasons += _sort_out(hook, answer, entries)
        return entries, reasons

    def _adopt(self, attribute: str) -> str:
        """Register one attribute where it implements a hook; return what is wrong with it, or nothing."""
        static = inspect.getattr_static(self.plugin, attribute, None)
        if not isinstance(static, (staticmethod, classmethod)) and not inspect.isroutine(static):
            return ""
        function: Callable[..., object] = getattr(self.plugin, attribute)
        options = getattr(function, f"{PROJECT}_impl", None)
        if options is None:
            return _unmarked(attribute) if attribute.startswith(_PREFIX) else ""
        hook = options.get("specname") or attribute
        if not hasattr(self._manager.hook, hook):
            absent = f"{attribute} implements {hook!r}, and there is no such hook; did you mean {_nearest_hook(hook)}?"
            return "" if options.get("optionalhook") else absent
        allowed = _parameters(getattr(hookspecs, hook))
        received = _parameters(function)
        unknown = [name for name in received if name not in allowed]
        if unknown:
            takes = f"it may take: {', '.join(allowed)}" if allowed else "it takes none"
            return f"{attribute} has the argument {unknown[0]!r}, which {hook} does not have; {takes}"
        carrier = SimpleNamespace(**{attribute: function})  # one hook each, so that a bad one keeps no good one out
        try:
            self._manager.register(carrier, name=attribute)
        except pluggy.PluginValidationError as error:
            return f"{attribute} is no implementation of {hook}: {' '.join(str(error).split())}"
        is_wrapper = options.get("hookwrapper") or options.get("wrapper")
        self._implemented[hook] = self._implemented.get(hook, 0) + (0 if is_wrapper else 1)
        self.reads_folders |= "folders" in received
        return ""


def _parameters(function: Callable[..., object]) -> list[str]:
    """Name the arguments that pluggy would pass: positional ones without a default."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind in positional and one.default is one.empty]


def _nearest_hook(name: str) -> str:
    return nearest_first(name, [*REGISTERING, *REPORTING.values()])[0]


def _unmarked(attribute: str) -> str:
    nearest = _nearest_hook(attribute)
    if attribute == nearest:
        return f"{attribute} is not marked; write @cfbench.hookimpl above it"
    return (
        f"{attribute} is no hook, and names that begin with {_PREFIX} are the hooks'; did you mean {nearest}, "
        "marked with @cfbench.hookimpl?"
    )


def _sort_out(hook: str, answer: object, entries: list[Entry]) -> list[str]:
    """Append the entries in a hook's answer to `entries`; return what is wrong with the rest of it."""
    expected = REGISTERING[hook]
    if isinstance(answer, Entry):
        return [f"{hook} returned one {type(answer).__name__}; it must yield it, or return a list"]
    if not isinstance(answer, Iterable) or isinstance(answer, str):
        return [f"{hook} returned {type(answer).__name__}; it must yield {expected.__name__} objects"]
    reasons: list[str] = []

    def sort() -> None:
        for item in answer:
            if isinstance(item, expected):
                entries.append(item)
            else:
                reasons.append(_wrong_item(hook, item))

    try:
        guarded(sort)  # a generator runs the plugin's code only now
    except PluginError as error:
        reasons.append(f"{hook} failed: {error}")
    return reasons


def _wrong_item(hook: str, item: object) -> str:
    expected = REGISTERING[hook].__name__
    if isinstance(item, Entry):
        right = next((other for other, kind in REGISTERING.items() if isinstance(item, kind)), "")
        where = f"; yield it from {right}" if right else ""
        return f"{hook} yielded the {type(item).__name__} {item.name!r}, and only {expected} belongs there{where}"
    return f"{hook} yielded {type(item).__name__} where {expected} is expected: {str(item)[:80]!r}"


E = TypeVar("E", bound=Entry)

_OF_YOUR_OWN = "To use your own plugin, pass --plugin FILE.py."


@dataclass(frozen=True)
class Registered(Generic[E]):
    """An entry with its origin."""

    entry: E
    distribution: str  # like its version empty for plugins that are not installed
    distribution_version: str
    plugin: str


@dataclass(frozen=True)
class RegistryOptions:
    """Everything that a registry is built from in addition to the installed distributions. A worker builds it again
    from these.
    """

    plugins: tuple[str, ...] = ()  # modules and paths of .py files
    folders: tuple[Path, ...] = ()  # of data sets
    strict: bool = False  # a plugin's problem is an error
    models: tuple[str, ...] = ()  # the user's own: files and addresses
    trust: bool = False  # whether models in pickles, which run code, may be loaded
    trusted_types: tuple[str, ...] = ()  # in models in skops files


@dataclass(frozen=True)
class Complaint:
    """What a reporter raised when it was told of an event."""

    reporter: str
    message: str


class Registry:
    """What is registered, by kind and name."""

    def __init__(
        self,
        options: RegistryOptions,
        plugins: Sequence[LoadedPlugin],
        entries: Mapping[type[Entry], Mapping[str, Registered[Any]]],
        problems: Sequence[PluginProblem],
        in_process: Sequence[str] = (),
    ) -> None:
        self.options = options
        self.datasets: Mapping[str, Registered[DatasetEntry]] = entries.get(DatasetEntry, {})
        self.models: Mapping[str, Registered[ModelEntry]] = entries.get(ModelEntry, {})
        self.searchers: Mapping[str, Registered[SearcherEntry]] = entries.get(SearcherEntry, {})
        self.objectives: Mapping[str, Registered[ObjectiveEntry]] = entries.get(ObjectiveEntry, {})
        self.metrics: Mapping[str, Registered[MetricEntry]] = entries.get(MetricEntry, {})
        self.presets: Mapping[str, Registered[PresetEntry]] = entries.get(PresetEntry, {})
        self.reports: Mapping[str, Registered[ReportEntry]] = entries.get(ReportEntry, {})
        self.kinds: Mapping[str, Mapping[str, Registered[Any]]] = {
            hook.removeprefix(f"{_PREFIX}register_"): entries.get(kind, {}) for hook, kind in REGISTERING.items()
        }  # "datasets", "models", ...
        listening = [plugin for plugin in plugins if plugin.implements(*REPORTING.values())]
        self.reporter_plugins: Mapping[str, LoadedPlugin] = {one.candidate.plugin: one for one in listening}
        self.reporters: Mapping[str, object] = {name: one.plugin for name, one in self.reporter_plugins.items()}
        self.problems = tuple(problems)
        self.in_process = tuple(in_process)  # plugins given as objects, which other processes lack

    def dataset(self, name: str) -> Registered[DatasetEntry]:
        """Return the data set of that name, or the one in the user's folder of that path.

        Raises UnknownNameError: as all look-ups do, naming the known ones, the nearest first.
        """
        if name not in self.datasets:
            path = at_home(Path(name)).resolve()
            for registered in self.datasets.values():
                if registered.entry.folder is not None and registered.entry.folder.resolve() == path:
                    return registered
        return self._find("data set", name, self.datasets)

    def model(self, name: str) -> Registered[ModelEntry]:
        """Return the model of that name, or the user's own model of that file, address or digest."""
        if name not in self.models:
            origin = resolved(name) if is_reference(name) else ""
            for registered in self.models.values():
                entry = registered.entry
                if (origin and entry.origin == origin) or (entry.fitted is not None and entry.version == name):
                    return registered
        return self._find("model", name, self.models)

    def searcher(self, name: str) -> Registered[SearcherEntry]:
        """Return the searcher of that name."""
        return self._find("searcher", name, self.searchers)

    def objective(self, name: str) -> Registered[ObjectiveEntry]:
        """Return the objective of that name."""
        return self._find("objective", name, self.objectives)

    def metric(self, name: str) -> Registered[MetricEntry]:
        """Return the metric of that name."""
        return self._find("metric", name, self.metrics, self.renamed_metric(name))

    def renamed_metric(self, name: str) -> str:
        """Say which metric has `name` as a former name; empty if none has."""
        present = next((one for one, found in self.metrics.items() if name in found.entry.former_names), "")
        return f"The metric {name!r} is now {present!r}." if present and name not in self.metrics else ""

    @property
    def families(self) -> tuple[type[ModelFamily], ...]:
        """The families of the models that cfbench fits here."""
        entries = [one.entry for one in self.models.values()]
        return tuple(one.family for one in entries if one.fitted is None and not one.unavailable)

    @property
    def default_metrics(self) -> tuple[str, ...]:
        """The metrics that a study measures if it lists none."""
        return tuple(name for name, found in self.metrics.items() if found.entry.measured_by_default)

    def preset(self, name: str) -> Registered[PresetEntry]:
        """Return the preset of that name."""
        return self._find("preset", name, self.presets)

    def report(self, name: str) -> Registered[ReportEntry]:
        """Return the report of that name."""
        return self._find("report", name, self.reports)

    @property
    def starting_point(self) -> PresetEntry | None:
        """The preset that a run takes where the user names nothing; None where no plugin registers one."""
        return next((one.entry for one in self.presets.values() if one.entry.is_starting_point), None)

    @property
    def reference(self) -> str:
        """The searcher that others are compared with where neither the user nor the record names one; may be empty."""
        return "" if self.starting_point is None else self.starting_point.reference

    def notify(self, event: object, only: str | None = None) -> list[Complaint]:
        """Tell the reporters of an event, one at a time; what one raises reaches neither the others nor the run."""
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

    def _find(self, kind: str, name: str, known: Mapping[str, Registered[E]], hint: str = "") -> Registered[E]:
        if name not in known:
            hint = hint or self._hint() or ("" if kind == "data set" else _OF_YOUR_OWN)
            if kind == "model":
                hint = f"{hint} A model that is fitted already is named by {FORMS}."
            raise UnknownNameError(kind, name, known, hint)
        return known[name]

    def _hint(self) -> str:
        if not self.problems:
            return ""
        return f"Not everything could be registered: {self.problems[0]} (`cfbench plugins` lists all problems.)"


def build_registry(options: RegistryOptions = RegistryOptions(), *, objects: Sequence[object] = ()) -> Registry:
    """Load every plugin, each on its own, and collect what they register.

    Names are taken in order: ours, other distributions' by their names, then `options.plugins`, then `objects`; the
    first keeps a name and the later one is reported.

    Raises PluginError if a module or file in `options.plugins` does not exist; with `options.strict`, if there is any
    problem. Raises ModelError or UnavailableError if a model in `options.models` cannot be loaded.
    """
    options = replace(
        options,
        plugins=tuple(str(at_home(Path(name)).resolve()) if is_file_name(name) else name for name in options.plugins),
        folders=tuple(at_home(folder).resolve() for folder in options.folders),
        models=tuple(dict.fromkeys(map(resolved, options.models))),
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
    models = entries[ModelEntry]
    for reference in options.models:
        entry = entry_of(reference, models, trust=options.trust, types=options.trusted_types)
        models[entry.name] = Registered(entry, "", "", reference)
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


def registry_with(
    plugins: object,
    folders: Iterable[Path] = (),
    *,
    strict: bool = False,
    models: Iterable[str] = (),
    trust: bool = False,
    trusted_types: Iterable[str] = (),
) -> Registry:
    """Build the registry with plugins that the caller gives.

    Raises PluginError if a plugin cannot be one, or a name or path leads nowhere.
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
        objects.append(_plugin_of(entries))
    options = RegistryOptions(tuple(names), tuple(folders), strict, tuple(models), trust, tuple(trusted_types))
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


def _plugin_of(entries: Sequence[Entry]) -> object:
    """Return a plugin that registers entries which were given without one."""
    plugin = SimpleNamespace(__name__=", ".join(entry.name for entry in entries))
    for hook, kind in REGISTERING.items():
        own = [entry for entry in entries if isinstance(entry, kind)]
        setattr(plugin, hook, hookimpl(lambda own=own: own))
    return plugin
