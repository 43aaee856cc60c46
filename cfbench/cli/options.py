"""Options that several commands share, and what they are turned into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.telling import tell
from cfbench.paths import at_home

if TYPE_CHECKING:
    from cfbench.analysis.ranks import Tolerance
    from cfbench.registry import Registry

FOLD = click.IntRange(0, 4)
"""A fold of the paper's five, as an option's type."""

results_option = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    callback=lambda _context, _option, path: at_home(path),
    default=Path("results"),
    show_default=True,
    help="The record's directory.",
)
data_dir_option = click.option(
    "--data-dir",
    "data_dirs",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with tables that are not shipped; also CFBENCH_DATA_DIR. May be repeated.",
)
plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE|FILE.py",
    help="Register a module or a file for this call. May be repeated.",
)


def _tolerance(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Tolerance | None:
    """Return the tolerance that a text names; None without one."""
    from cfbench.analysis.ranks import Tolerance  # loads numpy

    return None if text is None else Tolerance.parse(text)


tie_option = click.option(
    "--tie",
    callback=_tolerance,
    metavar="R",
    help="Values within this share of the better one, or within R/10, are ties; 0: only equal ones.  [default: 0.001]",
)
strict_option = click.option("--strict", is_flag=True, help="A plugin that fails to load is an error.")


def open_registry(plugins: Sequence[str] = (), folders: Sequence[Path] = (), *, strict: bool = False) -> Registry:
    """Build the registry and say on stderr which plugins failed to load."""
    from cfbench.registry import RegistryOptions, build_registry

    options = RegistryOptions(plugins=tuple(plugins), folders=tuple(folders), strict=strict)
    registry = build_registry(options)
    for problem in registry.problems:
        tell("Warning", problem)
    return registry
