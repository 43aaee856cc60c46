"""``cfbench new``: create a distribution of your own from a template."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click
from jinja2 import Environment, StrictUndefined

import cfbench
from cfbench.errors import CfbenchError, PluginError

SUFFIX = ".j2"
LONGEST_NAME = 40
"""Longer names would make lines of the templates too long."""


def rendered(template: str, name: str) -> dict[Path, str]:
    """Render a template's files for an entry of this name."""
    words = {
        "name": name,
        "distribution": f"cfbench-{name}",
        "package": package_of(name),
        "class_name": _class_name(name),
        "cfbench_version": ".".join(cfbench.__version__.split(".")[:2]),
    }
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - Python and TOML, no HTML
    root = files("cfbench.cli") / "templates" / template
    return {
        _place(path, words): environment.from_string(file.read_text(encoding="utf-8")).render(words)
        for path, file in _walk(root, Path())
    }


def write(folder: Path, contents: Mapping[Path, str]) -> None:
    """Write files into a new folder.

    Raises CfbenchError if the name exists already, or the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for path, content in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
    except FileExistsError as error:
        raise CfbenchError(
            f"{error.filename} exists already, and nothing is ever overwritten; choose another name, or another --path"
        ) from error
    except OSError as error:
        raise CfbenchError(f"{error.filename} cannot be written: {error.strerror}; choose another --path") from error


def package_of(name: str) -> str:
    """Return the import name of the distribution's package."""
    return f"cfbench_{name.replace('-', '_')}"


def _walk(folder: Traversable, at: Path) -> list[tuple[Path, Traversable]]:
    found: list[tuple[Path, Traversable]] = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            found += _walk(item, at / item.name)
        elif item.name.endswith(SUFFIX):
            found.append((at / item.name, item))
    return found


def _place(path: Path, words: Mapping[str, str]) -> Path:
    """Return where a template's file goes."""
    parts = [words["package"] if part == "PACKAGE" else part for part in path.parts]
    name = parts[-1].removesuffix(SUFFIX)
    return Path(*parts[:-1], ".gitignore" if name == "gitignore" else name)


def _class_name(name: str) -> str:
    words = "".join(word.capitalize() for word in name.split("-"))
    return words if words.isidentifier() else f"Searcher{words}"


@click.group("new", short_help="Start a searcher of your own from a template.")
def command() -> None:
    """Create a distribution of your own, with a small working example."""


@command.command("searcher", short_help="A distribution with a searcher.")
@click.argument("name")
@click.option(
    "--path",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder in which the distribution's folder is made.  [default: here]",
)
def searcher(name: str, path: Path) -> None:
    """Make the folder cfbench-NAME: a distribution that registers the searcher NAME.

    It holds a small algorithm for you to replace, an entry point, and a test that runs the conformance checks.
    """
    _check(name)
    folder = path / f"cfbench-{name}"
    write(folder, rendered("searcher", name))
    click.echo(f"{folder} holds a working searcher; replace it with yours. Next commands:")
    for line in (
        f"cd {shlex.quote(str(folder))}",
        "pip install --editable .",
        f"cfbench check {name}",
        f"cfbench run --searcher {name} --searcher cogs --dataset wine --model random-forest --fold 0 --points 3",
    ):
        click.echo(f"  {line}")


def _check(name: str) -> None:
    """Raise CfbenchError if a name is invalid, is taken, or its package would hide another."""
    from cfbench.registry.entries import Entry
    from cfbench.registry.registry import build_registry

    try:
        Entry(name=name)
    except PluginError as error:
        kebab = re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()).strip("-")
        raise CfbenchError(f"{error}{f', such as {kebab}' if kebab else ''}") from None
    if len(name) > LONGEST_NAME:
        raise CfbenchError(f"{name!r} has {len(name)} characters; a name has {LONGEST_NAME} at most")
    holder = build_registry().searchers.get(name)
    if holder is not None:
        raise CfbenchError(
            f"the name {name!r} is taken by {holder.distribution} {holder.distribution_version}; choose another"
        )
    if importlib.util.find_spec(package_of(name)) is not None:
        raise CfbenchError(
            f"there is a package {package_of(name)} here already, which the new one would hide; choose another name"
        )
