"""Loading one plugin that was found, whatever it raises, and saying what went wrong."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TypeVar

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, PluginError

T = TypeVar("T")


@dataclass(frozen=True)
class PluginProblem:
    """Why a plugin, or something in it, is not registered.

    Parameters
    ----------
    plugin : str
        Its entry point's name, or the module or file that the user named.
    distribution, version : str
        Who brought it; empty for plugins that are not installed.
    reason : str
        What is wrong, and how to mend it.
    """

    plugin: str
    distribution: str
    version: str
    reason: str

    def __str__(self) -> str:
        origin = f" of {self.distribution} {self.version}" if self.distribution else ""
        return f"plugin {self.plugin}{origin}: {self.reason}"


@dataclass(frozen=True)
class Candidate:
    """A plugin that was found and not yet loaded.

    Parameters
    ----------
    plugin, distribution, version : str
        As in PluginProblem.
    load : callable
        Imports the plugin and returns it; may raise anything at all.
    """

    plugin: str
    distribution: str
    version: str
    load: Callable[[], object]

    def problem(self, reason: str) -> PluginProblem:
        """Report `reason` as this plugin's problem."""
        return PluginProblem(self.plugin, self.distribution, self.version, reason)


def load(candidate: Candidate) -> object:
    """Load a plugin; where the plugin is a class, make its one instance.

    Raises
    ------
    PluginError
        Whatever goes wrong.
    """

    def instance() -> object:
        plugin = candidate.load()
        return plugin() if inspect.isclass(plugin) else plugin

    return guarded(instance)


def guarded(call: Callable[[], T]) -> T:
    """Call into a plugin.

    Raises
    ------
    PluginError
        Whatever the plugin raises, an exit included. Only Ctrl-C passes.
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


def import_file(path: Path) -> object:
    """Import a file under a name that its path and content make unique.

    An edited file is imported anew in the same process. Every process finds the same name, so that what the file
    defines can be pickled once the receiving process has built its registry.
    """
    stem = re.sub(r"\W", "_", path.stem)
    name = f"cfbench_plugin_{stem}_{digest_of([str(path), path.read_bytes().hex()])[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path, loader=_UncachedLoader(name, str(path)))
    assert spec is not None, "a loader was given"
    assert spec.loader is not None, "a loader was given"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
