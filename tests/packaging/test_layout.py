"""The layout of the house: three source roots, and plugins that are loaded quickly."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = [ROOT / path for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


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
