"""``cfbench new``: create a distribution of your own from a template.

The folder `common` of the templates holds what all kinds share; a kind's own folder holds its module.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Template:
    """What the templates say about a kind of plugin.

    `content` says what the module holds, and `run` is a command that uses the new entry.
    """

    kind: str
    noun: str
    entry_class: str
    content: str
    run: str
    short_noun: str = ""

    @property
    def short(self) -> str:
        """The kind in one word, or two."""
        return self.short_noun or self.noun


_CELL = "--dataset wine --model random-forest --fold 0 --points 3"

TEMPLATES = {
    template.kind: template
    for template in (
        Template(
            "searcher",
            "search algorithm",
            "SearcherEntry",
            "the algorithm with its settings",
            f"cfbench run --searcher NAME --searcher cogs {_CELL}",
            short_noun="searcher",
        ),
        Template(
            "model",
            "model",
            "ModelEntry",
            "the model with its settings",
            "cfbench run --model NAME --searcher sparse-sweep --dataset wine --fold 0 --points 3",
        ),
        Template(
            "objective",
            "objective",
            "ObjectiveEntry",
            "the term with its settings",
            f"cfbench run --objective NAME --searcher random-search {_CELL}",
        ),
        Template(
            "metric",
            "metric",
            "MetricEntry",
            "the metric",
            f"cfbench run --metric NAME --searcher sparse-sweep {_CELL}",
        ),
        Template(
            "dataset",
            "data set",
            "DatasetEntry",
            "the annotated features, the function that loads `data.csv`",
            "cfbench run --dataset NAME --searcher sparse-sweep --model random-forest --fold 0 --points 3",
        ),
    )
}
"""The kinds of plugin that there are templates for."""


def rendered(kind: str, name: str) -> dict[Path, str]:
    """Render the files of a distribution for an entry of this kind and name."""
    template = TEMPLATES[kind]
    words = {
        "kind": kind,
        "noun": template.noun,
        "short_noun": template.short,
        "entry_class": template.entry_class,
        "content": template.content,
        "run": template.run.replace("NAME", name),
        "name": name,
        "distribution": f"cfbench-{name}",
        "package": package_of(name),
        "class_name": _class_name(kind, name),
        "cfbench_version": ".".join(cfbench.__version__.split(".")[:2]),
    }
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - Python and TOML, no HTML
    root = files("cfbench.cli") / "templates"
    return {
        _place(path, words): environment.from_string(file.read_text(encoding="utf-8")).render(words)
        for folder in ("common", kind)
        for path, file in _walk(root / folder, Path())
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


def _class_name(kind: str, name: str) -> str:
    words = "".join(word.capitalize() for word in name.split("-"))
    return words if words.isidentifier() else f"{kind.capitalize()}{words}"


@click.group("new", short_help="Start a plugin of your own from a template.")
def command() -> None:
    """Create a distribution of your own, with a small working example."""


def _command(template: Template) -> click.Command:
    """Return the command that makes a distribution of one kind."""

    @click.argument("name")
    @click.option(
        "--path",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(),
        help="The folder in which the distribution's folder is made.  [default: here]",
    )
    def make(name: str, path: Path) -> None:
        _check(template, name)
        folder = path / f"cfbench-{name}"
        write(folder, rendered(template.kind, name))
        click.echo(f"{folder} holds a working {template.short}; replace it with yours. Next commands:")
        for line in (
            f"cd {shlex.quote(str(folder))}",
            "pip install --editable .",
            f"cfbench check {name}",
            template.run.replace("NAME", name),
        ):
            click.echo(f"  {line}")

    make.__doc__ = f"""Make the folder cfbench-NAME: a distribution that registers the {template.short} NAME.

    It holds a small {template.noun} for you to replace, an entry point, and a test that runs the conformance checks.
    """
    return click.command(
        template.kind,
        short_help=f"A distribution with {'an' if template.short[0] in 'aeiou' else 'a'} {template.short}.",
    )(make)


for one in TEMPLATES.values():
    command.add_command(_command(one))


def _check(template: Template, name: str) -> None:
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
    holder = build_registry().kinds[f"{template.kind}s"].get(name)
    if holder is not None:
        raise CfbenchError(
            f"the name {name!r} is taken by {holder.distribution} {holder.distribution_version}; choose another"
        )
    if importlib.util.find_spec(package_of(name)) is not None:
        raise CfbenchError(
            f"there is a package {package_of(name)} here already, which the new one would hide; choose another name"
        )
