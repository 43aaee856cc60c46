"""The layout of the house: three source roots, plugins that are loaded quickly, and declared dependencies."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from tests.packaging.sources import PACKAGES, PROJECT, ROOT, tree_of


@pytest.mark.parametrize("root", ["plugins", "datasets", "tests", "leaderboard", "examples", "benchmarks", "docs"])
def test_a_folder_that_is_no_package_has_no_init(root: str) -> None:
    assert not (ROOT / root / "__init__.py").exists()


def test_every_package_of_the_source_roots_is_shipped_and_typed() -> None:
    found = {init.parent for root in ("plugins", "datasets") for init in (ROOT / root).glob("*/__init__.py")}
    assert found | {ROOT / "cfbench"} == set(PACKAGES)
    assert all((package / "py.typed").is_file() for package in PACKAGES)
    assert set(PROJECT["tool"]["importlinter"]["root_packages"]) == {package.name for package in PACKAGES}


def test_every_entry_point_leads_to_a_file() -> None:
    for value in PROJECT["project"]["entry-points"]["cfbench"].values():
        module = Path(*value.partition(":")[0].split(".")).with_suffix(".py")
        assert any((package.parent / module).is_file() for package in PACKAGES), value


@pytest.mark.slow
@pytest.mark.parametrize("name", ["datasets", "plugins"])
def test_another_package_of_a_source_roots_name_is_not_shadowed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("whose = 'somebody else'\n")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import cfbench_searchers, {name}; print({name}.whose)"
    finished = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path.parent
    )
    assert finished.stdout.strip() == "somebody else"


@pytest.mark.slow
def test_loading_every_plugin_imports_no_heavy_library() -> None:
    code = "import sys; from cfbench.registry.registry import build_registry; build_registry(); print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"mlflow", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "numba", "dask", "dice_ml"}
    assert not heavy & set(finished.stdout.split())


EXTRAS = PROJECT["project"]["optional-dependencies"]
OPTIONAL = {
    "distributed": "dask",
    "dice_ml": "dice",
    "raiutils": "dice",
    "numba": "fast",
    "onnxruntime": "onnx",
    "skl2onnx": "onnx",
}
OPTIONAL |= {name: name for name in ("catboost", "cma", "dask", "lightgbm", "skops", "xgboost")}
"""Modules that an extra brings, and the extra."""
BROUGHT_ALONG = {
    "joblib": "scikit-learn",
    "markupsafe": "jinja2",
    "pydantic_core": "pydantic",
    "requests": "pooch",
    "sqlalchemy": "mlflow",
}
"""Modules that are parts of what a dependency is made of, and the dependency."""


def normalised(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def imported(package: Path) -> Iterator[tuple[str, Path]]:
    """Yield the top-level modules that a package imports, wherever in its code."""
    for file in package.rglob("*.py"):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Import):
                yield from ((alias.name.partition(".")[0], file) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield str(node.module).partition(".")[0], file


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_import_is_declared(package: Path) -> None:
    ours = {one.name for one in PACKAGES}
    declared = {normalised(requirement) for requirement in PROJECT["project"]["dependencies"]}
    origins = packages_distributions()
    for module, file in imported(package):
        if module in sys.stdlib_module_names or module in ours:
            continue
        if module in OPTIONAL:
            assert OPTIONAL[module] in EXTRAS, f"{file}: {module}"
        elif module in BROUGHT_ALONG:
            assert BROUGHT_ALONG[module] in declared
            needs = {normalised(requirement) for requirement in requires(BROUGHT_ALONG[module]) or ()}
            assert needs & {normalised(name) for name in origins[module]}
        elif not (module == "pytest" and package.name == "cfbench"):  # cfbench.testing is used where pytest is
            brought = {normalised(name) for name in origins.get(module, [])}
            assert brought & declared, f"{file} imports {module}, which no dependency of pyproject.toml brings"
