"""What ``import cfbench`` offers, and what it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import cfbench
import cfbench.analysis
import cfbench.forests
import cfbench.linear
import cfbench.models
import cfbench.problem
import cfbench.record
import cfbench.registry
import cfbench.robustness
import cfbench.space
import cfbench.tables
import cfbench.tracking

NAMESPACES = (
    cfbench,
    cfbench.analysis,
    cfbench.forests,
    cfbench.linear,
    cfbench.models,
    cfbench.problem,
    cfbench.record,
    cfbench.registry,
    cfbench.robustness,
    cfbench.space,
    cfbench.tables,
    cfbench.tracking,
)
MOST_NAMES = 48
PUBLIC = [(namespace, name) for namespace in NAMESPACES for name in namespace.__all__]
namespaces = pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda one: one.__name__)


def names_for_type_checkers(namespace: ModuleType) -> dict[str, str]:
    """Return name -> module of the ``if TYPE_CHECKING`` block."""
    tree = ast.parse(Path(inspect.getfile(namespace)).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            assert alias.asname == alias.name, "only `import X as X` is a public name for type checkers"
            found[alias.name] = str(statement.module)
    return found


@pytest.mark.parametrize(("namespace", "name"), PUBLIC)
def test_every_public_name_can_be_imported_and_is_documented(namespace: ModuleType, name: str) -> None:
    public = getattr(namespace, name)
    if inspect.isclass(public) or inspect.isfunction(public):
        assert inspect.getdoc(public)
        assert getattr(importlib.import_module(names_for_type_checkers(namespace)[name]), name) is public


def test_the_list_is_sorted_and_without_repetition() -> None:
    assert cfbench.__all__ == [*sorted(set(cfbench.__all__) - {"__version__"}), "__version__"]
    assert all(dir(namespace) == sorted(namespace.__all__) for namespace in NAMESPACES)


@namespaces
def test_an_unknown_attribute_is_an_attribute_error(namespace: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{namespace.__name__}' has no attribute 'Searchr'"):
        _ = namespace.Searchr


def test_the_top_level_stays_small() -> None:
    assert len(cfbench.__all__) <= MOST_NAMES


@pytest.mark.parametrize("name", sorted(set(cfbench.__all__) - {"__version__"}))
def test_the_documentation_names_every_name_of_the_top_level(name: str) -> None:
    pages = [page for page in (Path(__file__).parents[2] / "docs").rglob("*.md") if "adr" not in page.parts]
    assert any(re.search(rf"\b{name}\b", page.read_text(encoding="utf-8")) for page in pages)


def test_the_version_is_the_distributions() -> None:
    assert cfbench.__version__ == version("counterfactual-bench")


@pytest.mark.slow
def test_importing_cfbench_imports_next_to_nothing() -> None:
    imports = "import sys, " + ", ".join(namespace.__name__ for namespace in NAMESPACES)
    code = imports + "; print(*(name for name in sys.modules if name.startswith('cfbench') or name in {}))"
    heavy = {"numpy", "pandas", "sklearn", "mlflow", "pydantic", "scipy", "rich", "click", "pluggy"}
    found = subprocess.run(
        [sys.executable, "-c", code.format(heavy)], check=True, capture_output=True, text=True
    ).stdout.split()
    assert sorted(found) == sorted(["cfbench.lazy", *(namespace.__name__ for namespace in NAMESPACES)])
