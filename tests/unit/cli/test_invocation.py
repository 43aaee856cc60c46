from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cfbench.cli.options import command_name


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command in an environment below the working directory, called by its path."""
    path = tmp_path / ".venv" / "bin" / "cfbench"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [".venv/bin/cfbench", "run"])
    return path


def test_a_command_that_the_shell_does_not_find_is_named_by_its_path(
    command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert command_name() == str(Path(".venv", "bin", "cfbench"))
    assert command.exists()


def test_a_command_that_the_shell_finds_is_named_alone(command: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(command.parent), "/usr/bin"]))
    assert command_name() == "cfbench"


def test_from_python_it_is_the_bare_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py"])
    assert command_name() == "cfbench"
