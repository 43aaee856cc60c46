"""Imports among our own modules: no cycles, no crowded package, and each package says where to begin."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cfbench.cli import COMMANDS
from tests.packaging.sources import PACKAGES, tree_of

MOST_MODULES = 20


def modules_of(package: Path) -> dict[str, Path]:
    """Return the modules below a package by their dotted names; a package counts as its ``__init__.py``."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = {name: file for package in PACKAGES for name, file in modules_of(package).items()}
NAMES_OF_PACKAGES = sorted(name for name, file in MODULES.items() if file.name == "__init__.py" and name != "cfbench")


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import that can run: those inside functions too, none for type checkers alone."""
    if isinstance(tree, ast.Import | ast.ImportFrom):
        yield tree
    elif isinstance(tree, ast.If) and ast.unparse(tree.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for statement in tree.orelse:
            yield from imports(statement)
    else:
        for node in ast.iter_child_nodes(tree):
            yield from imports(node)


def imported(tree: ast.Module, known: Mapping[str, Path]) -> set[str]:
    """Return the known modules that a module imports; ``from package import module`` leads to the module."""
    found: set[str] = set()
    for node in imports(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else str(node.module) for name in full.values()}
    return found & set(known)


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of one import cycle in order, the first again at the end; nothing if there is none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module not in done:
            for other in sorted(graph[module]):
                if found := visit(other, [*path, module]):
                    return found
            done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := visit(module, []))), [])


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {name: imported(tree_of(file), MODULES) for name, file in MODULES.items()}
    assert len(graph) > 150
    assert graph["cfbench.board.columns"], "the graph has edges"
    found = cycle(graph)
    assert not found, "import cycle: " + " -> ".join(found)


def test_a_cycle_through_a_function_is_found_and_named() -> None:
    known = dict.fromkeys(["a", "a.b", "a.c", "a.d"], Path())
    texts = {
        "a": "",
        "a.b": "def late():\n    from a import c\n",
        "a.c": "import a.d\n",
        "a.d": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.c\nelse:\n    from a.b import name\n",
    }
    graph = {name: imported(ast.parse(text), known) for name, text in texts.items()}
    assert graph == {"a": set(), "a.b": {"a.c"}, "a.c": {"a.d"}, "a.d": {"a.b"}}
    assert cycle(graph) == ["a.b", "a.c", "a.d", "a.b"]
    assert cycle({**graph, "a.d": set()}) == []


@pytest.mark.parametrize("package", NAMES_OF_PACKAGES)
def test_a_package_is_small_enough_to_know(package: str) -> None:
    own = [name for name in MODULES if name.rpartition(".")[0] == package and name not in NAMES_OF_PACKAGES]
    # A module per command, what they share (options), and the completion that the program itself installs.
    most = len(COMMANDS) + 2 if package == "cfbench.cli" else MOST_MODULES
    assert len(own) <= most, own


@pytest.mark.parametrize("package", NAMES_OF_PACKAGES)
def test_a_package_says_what_it_imports_and_where_to_begin(package: str) -> None:
    text = ast.get_docstring(tree_of(MODULES[package])) or ""
    assert re.search(r"\bimports?\b", text, re.IGNORECASE), "it says what the package may import"
    start = re.search(r"Start with\s+`([\w/]+)\.py`", text)
    assert start, "it says where a newcomer starts to read"
    assert (MODULES[package].parent / f"{start[1]}.py").is_file()


def test_every_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for module, file in MODULES.items():
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}
