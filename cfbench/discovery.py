"""Finding plugins: entry points of installed distributions, modules and files that the user names, Python objects.

Nothing is imported here before :attr:`Candidate.load` is called, and every candidate is loaded on its own, so that a
broken plugin costs only itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from importlib.metadata import Distribution, EntryPoint, distribution, distributions
from pathlib import Path

from cfbench.errors import PluginError
from cfbench.hookspecs import PROJECT
from cfbench.loading import Candidate, PluginProblem, import_file

OUR_DISTRIBUTION = "counterfactual-bench"

NEAR = 0.6
"""Likeness from which on a group is taken for a misspelling of ours."""

_GROUP = re.compile(r"^\[(.*)\]", re.MULTILINE)
_REFERENCE = re.compile(r"[\w.]+(\s*:\s*[\w.]+)?\s*(\[.*\])?")


def installed() -> tuple[list[Candidate], list[PluginProblem]]:
    """Find the plugins of all installed distributions.

    Returns
    -------
    candidates : list of Candidate
        Ours first, then by the distributions' names and the entry points' names: where two bring the same name, the
        first keeps it.
    problems : list of PluginProblem
        Distributions whose entry points cannot be read or stand in a group that nobody reads, and entry-point names
        that an earlier distribution has.
    """
    candidates: dict[str, Candidate] = {}
    problems: list[PluginProblem] = []
    for found in _distributions():
        try:
            ours = sorted(found.entry_points.select(group=PROJECT), key=lambda entry_point: entry_point.name)
            misplaced = [] if ours else _misplaced(found)
        except Exception as error:  # metadata is written by others' tools and by hand
            reason = f"its entry points cannot be read ({type(error).__name__}: {error}); install it anew"
            problems.append(PluginProblem("entry_points.txt", found.name, found.version, reason))
            continue
        for entry in misplaced:
            reason = (
                f"its entry point stands in the group {entry.group!r}, which nobody reads; the group is {PROJECT!r}"
            )
            problems.append(PluginProblem(entry.name, found.name, found.version, reason))
        for entry in ours:
            candidate = Candidate(entry.name, found.name, found.version, _loader(entry))
            if entry.name in candidates:
                problems.append(candidate.problem(_taken(entry.name, candidates[entry.name])))
            else:
                candidates[entry.name] = candidate
    return list(candidates.values()), problems


def named(plugins: Sequence[str]) -> list[Candidate]:
    """Find plugins that the user names: modules (``package.module``) and files (a path that ends in ``.py``).

    Raises
    ------
    PluginError
        If there is no such module or file. What exists and fails to load is a plugin's problem instead.
    """
    return [_from_file(Path(name)) if is_file_name(name) else _from_module(name) for name in plugins]


def given(objects: Iterable[object]) -> Iterator[Candidate]:
    """Take plugin objects and modules as they are; each gets a name of its own."""
    seen: dict[str, int] = {}
    for plugin in objects:
        name = getattr(plugin, "__name__", "") or type(plugin).__name__
        seen[name] = seen.get(name, 0) + 1
        yield Candidate(name if seen[name] == 1 else f"{name}-{seen[name]}", "", "", partial(_itself, plugin))


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
            text = candidate.read_text("entry_points.txt") or ""
            if _looks_like_ours(text, anywhere=True) or any(_is_near(group) for group in _GROUP.findall(text)):
                names.add(_normalised(candidate.name))
        except Exception:  # noqa: S112 - a distribution without readable metadata is nothing that could be named
            continue
    # The same distribution may lie in several folders of sys.path; `distribution` returns the one that Python imports.
    return [distribution(name) for name in sorted(names, key=lambda name: (name != OUR_DISTRIBUTION, name))]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _looks_like_ours(text: str, *, anywhere: bool = False) -> bool:
    letters = re.sub(r"[^a-z\n]", "", text.lower())
    if anywhere:
        return PROJECT in letters or "counterfactualbench" in letters
    return letters.startswith((PROJECT, "counterfactualbench"))


def _misplaced(found: Distribution) -> list[EntryPoint]:
    """Return a distribution's entry points in groups that were meant to be ours.

    A group that begins with our name is one; one that is merely like it only if the distribution depends on us.
    """
    entries = list(found.entry_points)
    begun = [entry for entry in entries if _looks_like_ours(entry.group)]
    if begun or not any(_is_near(entry.group) for entry in entries):
        return begun
    needed = [re.match(r"[\w.-]*", requirement) for requirement in found.requires or ()]
    if OUR_DISTRIBUTION not in {_normalised(name[0]) for name in needed if name}:
        return []
    return [entry for entry in entries if _is_near(entry.group)]


def _is_near(group: str) -> bool:
    """Whether a group may be a misspelling of ours."""
    letters = re.sub(r"[^a-z]", "", group.lower())
    names = (PROJECT, "counterfactualbench")
    return any(SequenceMatcher(None, letters, name).ratio() >= NEAR for name in names)


def _taken(name: str, holder: Candidate) -> str:
    return (
        f"its entry point's name {name!r} is taken by {holder.distribution} {holder.version}; "
        "entry points need names of their own: prefix it with the distribution's name"
    )


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


def _itself(plugin: object) -> object:
    return plugin


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
