"""How make picks an interpreter, with interpreters made for the purpose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.sources import PROJECT, ROOT

pytestmark = pytest.mark.slow

FAKE = """#!/bin/sh
case "$1" in
  -c) exit {too_old} ;;
  --version) echo "Python of {name}" ;;
  -m) {venv} ;;
esac
"""
MAKES_ONE = 'mkdir -p "$4/bin" && echo {name} > "$4/bin/python"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name, too_old, venv in [
        ("old", 1, "exit 9"),
        ("new", 0, MAKES_ONE),
        ("newer", 0, MAKES_ONE),
        ("bare", 0, "exit 1"),
    ]:
        file = tmp_path / name
        file.write_text(FAKE.format(name=name, too_old=too_old, venv=venv.format(name=name)))
        file.chmod(0o755)
    return tmp_path


def make(folder: Path, interpreters: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "--no-print-directory", f"PYTHON={interpreters}", ".venv/bin/python"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_first_interpreter_that_is_new_enough_and_runs_is_taken(folder: Path) -> None:
    finished = make(folder, "./absent ./old ./new ./newer")
    assert finished.returncode == 0, finished.stderr
    assert "Making .venv with ./new, Python of new" in finished.stdout
    assert (folder / ".venv" / "bin" / "python").read_text() == "new\n"


def test_without_any_the_message_says_what_is_needed(folder: Path) -> None:
    finished = make(folder, "./absent ./old")
    assert finished.returncode == 2
    assert "cfbench needs Python 3.11 or newer, and none of these is: ./absent ./old." in finished.stderr
    assert "make PYTHON=/path/to/python quickstart" in finished.stderr


def test_an_interpreter_without_venv_is_named(folder: Path) -> None:
    finished = make(folder, "./bare ./new")
    assert finished.returncode == 2
    assert "./bare cannot make a virtual environment" in finished.stderr


def test_every_extra_but_the_huge_one_is_installed() -> None:
    """Libraries of boosted trees, skops and ONNX come with the development tools: `quickstart` does not use them."""
    project, boosted, formats = PROJECT["project"], {"catboost", "lightgbm", "xgboost"}, {"onnx", "skops"}
    needed = {re.split(r"[->; ]", one)[0] for one in PROJECT["dependency-groups"]["dev"]}
    assert boosted <= needed
    (installed,) = re.findall(r'--editable "\.\[(.*)\]"', (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert set(installed.split(",")) == set(project["optional-dependencies"]) - {"all", "dice"} - formats - boosted
    (everything,) = project["optional-dependencies"]["all"]
    extras = sorted([*installed.split(","), *boosted, "dice", *formats])
    assert everything == f"counterfactual-bench[{','.join(extras)}]"


def test_the_continuous_integration_runs_the_readmes_commands() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("make check", "make test"):
        assert command in lines
        assert command in readme
