"""Finding and loading plugins: entry points, modules and files that the user names, Python objects.

Each plugin is loaded on its own. One that fails is reported with its distribution, version and reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.metadata import Distribution, EntryPoint, distribution, distributions
from pathlib import Path
from typing import TypeVar

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, PluginError
from cfbench.registry.hookspecs import PROJECT

T = TypeVar("T")


@dataclass(frozen=True)
class PluginProblem:
    """Why a plugin, or something in it, is not registered."""

    plugin: str  # the entry point's name, or the module or file that the user named
    distribution: str  # like `version` empty for plugins that are not installed
    version: str
    reason: str

    def __str__(self) -> str:
        origin = f" of {self.distribution} {self.version}" if self.distribution else ""
        return f"plugin {self.plugin}{origin}: {self.reason}"


@dataclass(frozen=True)
class Candidate:
    """A plugin that was found and not yet loaded."""

    plugin: str
    distribution: str
    version: str
    load: Callable[[], object]  # imports the plugin; may raise anything

    def problem(self, reason: str) -> PluginProblem:
        """Report `reason` as this plugin's problem."""
        return PluginProblem(self.plugin, self.distribution, self.version, reason)


def load(candidate: Candidate) -> object:
    """Load a plugin; where the plugin is a class, make its one instance.

    Raises PluginError: whatever goes wrong.
    """

    def instance() -> object:
        plugin = candidate.load()
        return plugin() if inspect.isclass(plugin) else plugin

    return guarded(instance)


def guarded(call: Callable[[], T]) -> T:
    """Call into a plugin.

    Raises PluginError: whatever the plugin raises, an exit included. Only Ctrl-C passes.
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, and what compiled extensions raise, are no Exception
        raise PluginError(failure(error)) from error


def failure(error: BaseException) -> str:
    """Say in one sentence what an exception out of a plugin means, and what to do about it."""
    if isinstance(error, CfbenchError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return (
            f"it imports {error.name!r}, which is not installed here; install what provides it: pip install {package}"
        )
    if isinstance(error, SyntaxError):
        return f"it does not compile: {error}"
    if isinstance(error, SystemExit):
        return f"it asked to end the program (SystemExit: {error}); a plugin must never do that"
    return f"it raised {type(error).__name__}: {error}"


class _UncachedLoader(SourceFileLoader):
    """Compiles the text as it stands: bytecode caches take two edits within one second for one."""

    def path_stats(self, path: object) -> Mapping[str, float]:
        """Refuse, which is how a loader says that it has no cache."""
        raise OSError(f"no bytecode is cached for {path}")


FILE_MODULE = "cfbench_plugin_"
"""How the names of modules begin that were made from a user's file."""


def import_file(path: Path) -> object:
    """Import a file under a name that its path and content make unique.

    An edited file is imported anew in the same process. Every process finds the same name, so that what the file
    defines can be pickled once the receiving process has built its registry.
    """
    stem = re.sub(r"\W", "_", path.stem)
    name = f"{FILE_MODULE}{stem}_{digest_of([str(path), path.read_bytes().hex()])[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path, loader=_UncachedLoader(name, str(path)))
    assert spec is not None, "a loader was given"
    assert spec.loader is not None, "a loader was given"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        sibling = error.name if isinstance(error, ModuleNotFoundError) else None
        if sibling and path.with_name(f"{sibling.partition('.')[0]}.py").is_file():
            raise PluginError(
                f"it imports {sibling!r}, a file next to it, and a plugin file is imported alone: put that folder on "
                f"the path (PYTHONPATH={path.parent}), or make a distribution with `cfbench new`"
            ) from error
        raise
    return module


OUR_DISTRIBUTION = "counterfactual-bench"

_NAMES = (PROJECT, "counterfactualbench")
_REFERENCE = re.compile(r"[\w.]+(\s*:\s*[\w.]+)?\s*(\[.*\])?")


def installed() -> tuple[list[Candidate], list[PluginProblem]]:
    """Find the plugins of all installed distributions, ours first, then by name; return them and the problems found."""
    candidates: dict[str, Candidate] = {}
    problems: list[PluginProblem] = []
    for found in _distributions():
        try:
            ours = sorted(found.entry_points.select(group=PROJECT), key=lambda entry_point: entry_point.name)
            meant = [entry for entry in found.entry_points if _letters(entry.group).startswith(_NAMES)]
        except Exception as error:  # metadata is written by others' tools and by hand
            reason = f"its entry points cannot be read ({type(error).__name__}: {error}); install it anew"
            problems.append(PluginProblem("entry_points.txt", found.name, found.version, reason))
            continue
        for entry in [] if ours else meant:
            reason = (
                f"its entry point is in the group {entry.group!r}, which no program reads; use the group {PROJECT!r}"
            )
            problems.append(PluginProblem(entry.name, found.name, found.version, reason))
        for entry in ours:
            candidate = Candidate(entry.name, found.name, found.version, _loader(entry))
            if entry.name in candidates:
                holder = candidates[entry.name]
                reason = (
                    f"its entry point's name {entry.name!r} is taken by {holder.distribution} {holder.version}; "
                    "entry points need names of their own: prefix it with the distribution's name"
                )
                problems.append(candidate.problem(reason))
            else:
                candidates[entry.name] = candidate
    return list(candidates.values()), problems


def named(plugins: Sequence[str]) -> list[Candidate]:
    """Find plugins that the user names: modules (``package.module``) and files (a path that ends in ``.py``).

    Raises PluginError if there is no such module or file. What exists and fails to load is a plugin's problem instead.
    """
    return [_from_file(Path(name)) if is_file_name(name) else _from_module(name) for name in plugins]


def given(objects: Iterable[object]) -> Iterator[Candidate]:
    """Take plugin objects and modules as they are; each gets a name of its own."""
    seen: dict[str, int] = {}
    for plugin in objects:
        name = getattr(plugin, "__name__", "") or type(plugin).__name__
        seen[name] = seen.get(name, 0) + 1
        own = name if seen[name] == 1 else f"{name}-{seen[name]}"
        yield Candidate(own, "", "", lambda plugin=plugin: plugin)  # type: ignore[misc] # the default binds the loop's


def is_file_name(plugin: str) -> bool:
    """Whether the user means a file, not a module."""
    return plugin.endswith(".py") or "/" in plugin or "\\" in plugin


def _distributions() -> list[Distribution]:
    """Return the distributions that may hold plugins: ours first, then by name.

    Walks them itself, since one unreadable entry_points.txt makes ``importlib.metadata.entry_points`` fail for all.
    """
    names: set[str] = set()
    for candidate in distributions():
        try:
            letters = _letters(candidate.read_text("entry_points.txt") or "")
            if any(name in letters for name in _NAMES):
                names.add(re.sub(r"[-_.]+", "-", candidate.name).lower())
        except Exception:  # noqa: S112 - a distribution without readable metadata is nothing that could be named
            continue
    # The same distribution may lie in several folders of sys.path; `distribution` returns the one that Python imports.
    return [distribution(name) for name in sorted(names, key=lambda name: (name != OUR_DISTRIBUTION, name))]


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())


def _loader(entry: EntryPoint) -> Callable[[], object]:
    def load_entry_point() -> object:
        if not _REFERENCE.fullmatch(entry.value):
            raise PluginError(
                f"its entry point's value {entry.value!r} names nothing; "
                "write 'package.module' or 'package.module:object'"
            )
        try:
            return entry.load()
        except ModuleNotFoundError as error:
            if error.name and f"{entry.module}.".startswith(f"{error.name}."):
                raise PluginError(
                    f"its entry point names {entry.value!r}, and there is no module {error.name!r}; "
                    "correct it in the distribution's pyproject.toml and install it again"
                ) from error
            raise

    return load_entry_point


def _from_module(name: str) -> Candidate:
    try:
        exists = name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        exists = False
    except Exception:
        exists = True  # a parent package that fails to import: reported when the plugin is loaded
    if not exists:
        file = Path(f"{name}.py")
        hint = f"give its path: ./{file}" if file.exists() else "install it, or give the path of a .py file"
        raise PluginError(f"there is no plugin module {name!r} to import; {hint}")
    return Candidate(name, "", "", lambda: importlib.import_module(name))


def _from_file(path: Path) -> Candidate:
    if not path.is_file() or path.suffix != ".py":
        raise PluginError(f"there is no plugin file {str(path)!r}; give the path of a .py file, or a module's name")
    return Candidate(str(path), "", "", lambda: import_file(path.resolve()))
