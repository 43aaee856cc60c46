"""``cfbench new``: start a distribution of one's own."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import click

from cfbench.errors import CfbenchError, PluginError


@click.group("new", short_help="Start a searcher of your own from a template.")
def command() -> None:
    """Start a distribution of your own, with something small in it that works."""


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

    It holds a small algorithm to replace by yours, an entry point, and a test that runs the conformance checks.
    """
    from cfbench.cli.scaffold import rendered, write

    _check(name)
    folder = path / f"cfbench-{name}"
    write(folder, rendered("searcher", name))
    click.echo(f"{folder} holds a searcher that works; put yours into its place. Go on with")
    for line in (
        f"cd {shlex.quote(str(folder))}",
        "pip install --editable .",
        f"cfbench check {name}",
        f"cfbench run --searcher {name} --searcher cogs --dataset wine --model random-forest --fold 0 --points 3",
    ):
        click.echo(f"  {line}")


def _check(name: str) -> None:
    """Refuse a name that is none, that is taken, or whose package would hide another.

    Raises
    ------
    CfbenchError
    """
    from cfbench.cli.scaffold import LONGEST_NAME, package_of
    from cfbench.entries import Entry
    from cfbench.registry import build_registry

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
