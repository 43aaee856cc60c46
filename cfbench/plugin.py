"""One loaded plugin: its hooks checked against the specifications, and called without touching other plugins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pluggy

from cfbench import hookspecs
from cfbench.entries import DatasetEntry, Entry, MetricEntry, ModelEntry, ObjectiveEntry, SearcherEntry
from cfbench.errors import PluginError, nearest_first
from cfbench.events import CellFinished, CellStarted, RunFinished, RunStarted, SearchFinished
from cfbench.hookspecs import PROJECT
from cfbench.loading import Candidate, guarded

REGISTERING: Mapping[str, type[Entry]] = {
    "cfbench_register_datasets": DatasetEntry,
    "cfbench_register_models": ModelEntry,
    "cfbench_register_searchers": SearcherEntry,
    "cfbench_register_objectives": ObjectiveEntry,
    "cfbench_register_metrics": MetricEntry,
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


class _OneHook:
    """Carries one implementation into pluggy, so that a bad one does not keep the good ones out."""


class LoadedPlugin:
    """A plugin with a pluggy manager of its own.

    pluggy calls all plugins of a manager in one go, stops at the first that raises, and drops answers of None; one
    manager a plugin keeps a failure, and an empty answer, with the plugin it belongs to.

    Parameters
    ----------
    candidate : Candidate
        What it was found as.
    plugin : object
        A module or an instance whose attributes implement hooks.

    Attributes
    ----------
    objections : list of str
        What is wrong with its hooks; those are not called.
    """

    def __init__(self, candidate: Candidate, plugin: object) -> None:
        self.candidate = candidate
        self.plugin = plugin
        self.objections: list[str] = []
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
        """Ask a registering hook for its entries.

        Returns
        -------
        entries : list of Entry
            The good ones, also where others are bad or the hook fails half-way.
        reasons : list of str
            What is wrong with the others.
        """
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
            return "" if options.get("optionalhook") else _no_such_hook(attribute, hook)
        allowed = _parameters(getattr(hookspecs, hook))
        received = _parameters(function)
        unknown = [name for name in received if name not in allowed]
        if unknown:
            takes = f"it may take: {', '.join(allowed)}" if allowed else "it takes none"
            return f"{attribute} has the argument {unknown[0]!r}, which {hook} does not have; {takes}"
        carrier = _OneHook()
        setattr(carrier, attribute, function)
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


def _no_such_hook(attribute: str, hook: str) -> str:
    hooks = nearest_first(hook, [*REGISTERING, *REPORTING.values()])
    return f"{attribute} implements {hook!r}, and there is no such hook; did you mean {hooks[0]}?"


def _unmarked(attribute: str) -> str:
    hooks = nearest_first(attribute, [*REGISTERING, *REPORTING.values()])
    if attribute == hooks[0]:
        return f"{attribute} is not marked; write @cfbench.hookimpl above it"
    return (
        f"{attribute} is no hook, and names that begin with {_PREFIX} are the hooks'; did you mean {hooks[0]}, "
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
