"""What ``import cfbench`` offers, and what it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import cfbench


def names_for_type_checkers() -> dict[str, str]:
    """Return name -> module of the ``if TYPE_CHECKING`` block."""
    tree = ast.parse(Path(inspect.getfile(cfbench)).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            assert alias.asname == alias.name, "only `import X as X` is a public name for type checkers"
            found[alias.name] = str(statement.module)
    return found


def test_type_checkers_and_python_see_the_same_names() -> None:
    at_run_time = {name: f"cfbench.{module}" for module, names in cfbench._HOME.items() for name in names}
    assert names_for_type_checkers() == at_run_time


@pytest.mark.parametrize("name", cfbench.__all__)
def test_every_public_name_can_be_imported_and_is_documented(name: str) -> None:
    public = getattr(cfbench, name)
    if inspect.isclass(public) or inspect.isfunction(public):
        assert inspect.getdoc(public)
        home = importlib.import_module(f"cfbench.{cfbench._MODULE_OF[name]}")
        assert getattr(home, name) is public


def test_the_list_is_sorted_and_without_repetition() -> None:
    assert cfbench.__all__ == [*sorted(set(cfbench.__all__) - {"__version__"}), "__version__"]
    assert dir(cfbench) == sorted(cfbench.__all__)


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'cfbench' has no attribute 'Searchr'"):
        _ = cfbench.Searchr


def test_the_version_is_the_distributions() -> None:
    assert cfbench.__version__ == version("counterfactual-bench")


@pytest.mark.slow
def test_importing_cfbench_imports_next_to_nothing() -> None:
    code = "import cfbench, sys; print(*(name for name in sys.modules if name.startswith('cfbench') or name in {}))"
    heavy = {"numpy", "pandas", "sklearn", "mlflow", "pydantic", "scipy", "rich", "click", "pluggy"}
    found = subprocess.run(
        [sys.executable, "-c", code.format(heavy)], check=True, capture_output=True, text=True
    ).stdout.split()
    assert found == ["cfbench"]
