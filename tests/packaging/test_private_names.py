"""Nothing of ours uses another library's private names, or changes what another library is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.packaging.sources import ROOT, tree_of

FOLDERS = ("cfbench", "plugins", "datasets", "benchmarks")
NAMED_TUPLES = {"_asdict", "_replace", "_fields", "_make"}
"""Private by their form alone: namedtuple documents them."""
ACCESS = {"vars", "getattr", "hasattr", "setattr", "delattr"}
WITHOUT_PUBLIC_ACCESS = {"_baseline_prediction", "_predictors"}
"""The trees of scikit-learn's HistGradientBoostingClassifier, which has no public way to them."""
ALLOWED = NAMED_TUPLES | WITHOUT_PUBLIC_ACCESS
MEANT_TO_BE_SET = {"sys"}
"""Modules whose attributes are documented as assignable."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def is_ours(module: str) -> bool:
    return module.startswith("cfbench")


def own_names(tree: ast.Module) -> Iterator[str]:
    """List the private names that a module defines: functions, classes, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr


def foreign_modules(tree: ast.Module) -> dict[str, str]:
    """Return the modules of other libraries by the names under which this one knows them."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return {name: module for name, module in found.items() if not is_ours(module) and module[:10] != "__future__"}


def uses(tree: ast.Module, ours: set[str]) -> Iterator[str]:
    """Name each use of something private, or of something that is changed in place, with its line."""
    foreign = foreign_modules(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            names = [f"{module}.{alias.name}".lstrip(".") for alias in node.names]
            private = [name for name in names if not is_ours(name) and any(map(is_private, name.split(".")))]
            yield from (f"line {node.lineno}: imports {name}" for name in private)
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in ALLOWED:
            owner = ast.unparse(node.value)
            is_foreign = owner.split(".")[0].split("(")[0] in foreign
            if is_foreign or node.attr not in ours:
                yield f"line {node.lineno}: {owner}.{node.attr}"
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = ast.unparse(node.value)
            if owner in foreign and owner not in MEANT_TO_BE_SET:
                yield f"line {node.lineno}: sets {owner}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ACCESS and node.args:
            first = ast.unparse(node.args[0])
            root = first.split(".", maxsplit=1)[0]
            if node.func.id in {"vars", "setattr", "delattr"} and root in foreign.keys() - MEANT_TO_BE_SET:
                yield f"line {node.lineno}: {node.func.id} of {first}"
            if node.func.id in {"getattr", "hasattr", "setattr"} and len(node.args) > 1:
                name = node.args[1]
                if isinstance(name, ast.Constant) and is_private(str(name.value)) and name.value not in ours:
                    yield f"line {node.lineno}: {node.func.id} of {name.value!r}"


def test_no_private_name_of_another_library_is_used() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    trees = {path: tree_of(path) for path in paths}
    ours = {name for tree in trees.values() for name in own_names(tree) if is_private(name)}
    found = [f"{path.relative_to(ROOT)} {use}" for path, tree in trees.items() for use in uses(tree, ours)]
    assert found == []


def test_each_way_is_noticed_and_what_is_ours_or_documented_is_not() -> None:
    text = """
import atexit, json.decoder, os, sys
from multiprocessing import util
from sklearn.tree._tree import Tree
util._run_finalizers(0)
vars(json.decoder)['scanner'] = None
os.fork = None
setattr(os, 'fork', None)
model.tree_._fast()
getattr(model, '_fast')
sys.argv = []
self._own = 1
other._own
row._replace(a=1)
"""
    lines = sorted(int(use.split(":")[0].removeprefix("line ")) for use in uses(ast.parse(text), {"_own"}))
    assert lines == [4, 5, 6, 7, 8, 9, 10]
