"""What commands share: options, messages on stderr, progress, and hints that repeat the user's own command."""

from __future__ import annotations

import dataclasses
import functools
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from cfbench.files import at_home
from cfbench.study.sources import data_source

if TYPE_CHECKING:
    from cfbench.analysis.ranks import Tolerance
    from cfbench.registry.contracts import DataSource
    from cfbench.registry.registry import Registry


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

PIPED_WIDTH = 100
"""Columns of the text that goes into a file or another program."""


def tell(kind: str, sentence: object) -> None:
    """Write ``kind: sentence`` to stderr without harmful control characters; `kind` is "Error", "Warning" or "Note"."""
    click.echo(f"{kind}: {shown_lines(str(sentence))}", err=True)


def shown_lines(text: str) -> str:
    """Return a text without control characters that could move a terminal's cursor or hide text; lines stay."""
    from cfbench.text import visible

    return "\n".join(visible(line) for line in text.split("\n"))


def count_cells(done: int, cells: int) -> None:
    """Show the count of cells on a terminal, on one line of stderr that the next output replaces."""
    if sys.stderr.isatty():
        click.echo("\r\x1b[K" if done == cells else f"\rcell {done + 1} of {cells}", err=True, nl=False)


def with_bar(items: Sequence[T]) -> Iterable[T]:
    """Yield cells, with a bar on stderr if it is a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(items, "Cells", console=console, transient=True, disable=not console.is_terminal)


def text_width() -> int:
    """Return the terminal's width, or that of text for a file or another program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH


def aligned(lines: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return lines of text with columns of equal width; all but the first `left` columns are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def refuse_empty(arguments: Sequence[str]) -> None:
    """Raise UsageError if an argument of a command is blank; no command accepts one."""
    for before, text in zip(("", *arguments), arguments, strict=False):
        option, equals, value = text.partition("=")
        if text.strip() and not (text.startswith("--") and equals and not value.strip()):
            continue
        name = option if equals else before
        what = f"{name} has an empty value" if name.startswith("-") else "an argument is empty"
        raise click.UsageError(f"{what}; give it one, or leave it out")


def command_name() -> str:
    """Return the command for this installation: ``cfbench`` if the shell finds it, else its path.

    In a virtual environment that is not activated, as after ``make quickstart``, that is ``.venv/bin/cfbench``.
    """
    called = Path(sys.argv[0])
    if called.name != "cfbench" or not called.exists():
        return "cfbench"
    found = shutil.which("cfbench")
    if found is not None and Path(found).samefile(called):
        return "cfbench"
    absolute = called.absolute()
    here = Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def this_command() -> str:
    """Return the given command line, so that it can be repeated."""
    return shlex.join([command_name(), *sys.argv[1:]])


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
plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE|FILE.py",
    help="Register a module or a file for this call. May be repeated.",
)


def _tolerance(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Tolerance | None:
    """Return the tolerance that a text names, or None without a text."""
    from cfbench.analysis.ranks import Tolerance  # loads numpy

    return None if text is None else Tolerance.parse(text)


tie_option = click.option(
    "--tie",
    callback=_tolerance,
    metavar="R",
    help="Values within this share of the better one, or within R/10, are ties; 0: only equal ones.  [default: 0.001]",
)


def open_registry(
    plugins: Sequence[str] = (),
    folders: Sequence[Path] = (),
    *,
    strict: bool = False,
    models: Sequence[str] = (),
    trust: bool = False,
    trusted_types: Sequence[str] = (),
) -> Registry:
    """Build the registry and report on stderr which plugins failed to load."""
    from cfbench.registry.registry import RegistryOptions, build_registry

    options = RegistryOptions(tuple(plugins), tuple(folders), strict, tuple(models), trust, tuple(trusted_types))
    registry = build_registry(options)
    for problem in registry.problems:
        tell("Warning", problem)
    return registry


@dataclass(frozen=True)
class Sources:
    """Where a command's plugins, models and tables come from, as its options say."""

    plugins: Sequence[str] = ()
    strict: bool = False
    data_dirs: Sequence[Path] = ()
    trust: bool = False
    trusted_types: Sequence[str] = ()
    points_from: Path | None = None

    def registry(self, folders: Sequence[Path] = (), models: Iterable[str] = ()) -> Registry:
        """Return the registry, with data-set folders and the user's own models among the names of models.

        On a terminal, the user is asked whether types in skops files that skops does not know are trusted.
        """
        from cfbench.registry.own_models import UntrustedTypesError, references_among

        models = tuple(models)
        try:
            return open_registry(
                self.plugins,
                folders,
                strict=self.strict,
                models=references_among(models),
                trust=self.trust,
                trusted_types=self.trusted_types,
            )
        except UntrustedTypesError as error:
            if not sys.stdin.isatty():
                raise
            tell("Note", error)
            click.confirm("Trust these types for this call?", abort=True, err=True)
            types = (*self.trusted_types, *error.types)
        return dataclasses.replace(self, trusted_types=types).registry(folders, models)

    def data(self, *, download: bool = True) -> DataSource:
        """Return where tables may be found."""
        return data_source(self.data_dirs, download=download, points_from=self.points_from)


def plugin_options(command: F) -> F:
    """Add ``--plugin`` and ``--strict`` to a command, whose function gets `sources`."""

    @functools.wraps(command)
    def with_sources(**values: Any) -> Any:
        own = {one.name: values.pop(one.name) for one in dataclasses.fields(Sources) if one.name in values}
        return command(sources=Sources(**own), **values)

    strict = click.option("--strict", is_flag=True, help="A plugin that fails to load is an error.")
    return cast("F", plugin_option(strict(with_sources)))


def source_options(command: F) -> F:
    """Add ``--data-dir``, ``--plugin`` and ``--strict`` to a command, whose function gets `sources`."""
    data_dir = click.option(
        "--data-dir",
        "data_dirs",
        multiple=True,
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder with tables that are not shipped; also CFBENCH_DATA_DIR. May be repeated.",
    )
    return data_dir(plugin_options(command))


def trust_options(command: F) -> F:
    """Add ``--trust`` and ``--trust-type``, for commands that load a user's own models."""
    trust = click.option("--trust", is_flag=True, help="Load a model from a pickle (.joblib), which runs its code.")
    types = click.option(
        "--trust-type",
        "trusted_types",
        multiple=True,
        metavar="TYPE",
        help="Load a .skops model that holds this type. May be repeated.",
    )
    return trust(types(command))


def model_options(command: F) -> F:
    """Add the options of `trust_options`, and ``--points-from``."""
    points_from = click.option(
        "--points-from",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.csv",
        help="Explain the rows of this table, in the data set's columns, in place of the test rows of folds.",
    )
    return trust_options(points_from(command))


def own_model_options(command: F) -> F:
    """Add ``--model``, for commands that read a record, and the options of `model_options`."""
    model = click.option(
        "--model",
        "models",
        multiple=True,
        metavar="FILE|ADDRESS",
        help="A model of your own that the record's study used. May be repeated.",
    )
    return model(model_options(command))
