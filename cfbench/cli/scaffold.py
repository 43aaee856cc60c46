"""Making a distribution from a template: a folder of Jinja files, one for each file to write."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from jinja2 import Environment, StrictUndefined

import cfbench
from cfbench.errors import CfbenchError

SUFFIX = ".j2"
LONGEST_NAME = 40
"""Longer names would break the lines of the templates that hold them."""


def rendered(template: str, name: str) -> dict[Path, str]:
    """Render a template's files for an entry of this name.

    Parameters
    ----------
    template : str
        Name of a folder in ``templates``.
    name : str
        The entry's name, in kebab-case.

    Returns
    -------
    dict of Path to str
        What the files hold, by their paths in the distribution.
    """
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

    Raises
    ------
    CfbenchError
        If there is something of that name already, or it cannot be written.
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
