"""The wheel holds everything that the source roots hold, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.packaging.sources import PROJECT, ROOT

pytestmark = pytest.mark.slow

PACKAGES = [Path(path) for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what a wheel is built from, with the litter that a working copy has."""
    copy = tmp_path_factory.mktemp("build") / "copy"
    copy.mkdir()
    for file in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / file, copy / file)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / package / "__pycache__").mkdir()
        (copy / package / "__pycache__" / "stale.cpython-311.pyc").write_bytes(b"stale")
    shutil.copytree(ROOT / "leaderboard", copy / "leaderboard")
    (copy / "results").mkdir()
    (copy / "results" / "index.jsonl").write_text("{}\n")
    return copy


@pytest.fixture(scope="module")
def wheel(copy: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = (copy / "dist").glob("*.whl")
    assert built.name == f"counterfactual_bench-{PROJECT['project']['version']}-py3-none-any.whl"
    return zipfile.ZipFile(built)


def test_the_wheel_holds_every_file_of_every_package_and_nothing_else(copy: Path, wheel: zipfile.ZipFile) -> None:
    expected = {
        str(Path(package.name) / file.relative_to(copy / package))
        for package in PACKAGES
        for file in (copy / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    expected |= {f"cfbench/published/{file.name}" for file in (copy / "leaderboard" / "record").iterdir()}
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == expected


def test_the_metadata_is_the_projects(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert metadata["Name"] == "counterfactual-bench"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra") or []) == set(PROJECT["project"]["optional-dependencies"])
    needs_dice = [one for one in metadata.get_all("Requires-Dist") or [] if one.startswith("dice-ml")]
    assert all("extra ==" in one for one in needs_dice)
    entry_points = wheel.read(f"{info}/entry_points.txt").decode()
    for name, value in PROJECT["project"]["entry-points"]["cfbench"].items():
        assert f"{name} = {value}\n" in entry_points
    assert "cfbench = cfbench.cli:main\n" in entry_points
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_the_wheel_works_without_the_repository(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import cfbench, cfbench_datasets\n"
        f"assert all(one.__file__.startswith({str(tmp_path)!r}) for one in (cfbench, cfbench_datasets))\n"
        "from cfbench.registry.registry import build_registry\n"
        "registry = build_registry()\n"
        "assert not registry.problems, registry.problems\n"
        "assert registry.dataset('credit').distribution == 'counterfactual-bench'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
