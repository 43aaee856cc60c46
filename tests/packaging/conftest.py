"""A fresh environment: our wheel and what a test installs are its own, heavy libraries are those of this one.

A whole installation would take minutes. What this cannot see, a dependency that is missing from pyproject.toml, is
looked for in test_layout.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.packaging.sources import ROOT


class Fresh:
    """A virtual environment with our wheel, made in a folder."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        into = ["--python", str(self.bin / "python"), "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([sys.executable, "-m", "pip", *into, str(wheel)], check=True)
        # Folders that a .pth file names have no say of their own: the editable installation in them is not followed.
        (site,) = folder.glob("lib/python*/site-packages")
        lines = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        (site / "libraries.pth").write_text("\n".join(lines) + "\n")
        pip = self.bin / "pip"
        pip.write_text(f'#!/bin/sh\nexec "{self.bin / "python"}" -m pip "$@"\n')
        pip.chmod(0o755)

    @property
    def bin(self) -> Path:
        """Where its commands are."""
        return self.folder / "bin"

    def environment(self, home: Path) -> dict[str, str]:
        """Return variables under which its commands are found first, nothing is downloaded, and `home` is home."""
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON", "MLFLOW_"))},
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.folder),
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip's way of switching the isolation off
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "MLFLOW_TRACKING_URI": f"sqlite:///{home / 'mlflow.db'}",
            "COLUMNS": "120",
        }

    def run(self, *command: str, home: Path, folder: Path | None = None, code: int = 0) -> str:
        """Run a command in `folder`, or at home; return what it prints. Its exit code has to be `code`."""
        ended = subprocess.run(
            command, cwd=folder or home, env=self.environment(home), capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Make a fresh environment with our wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist"), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return Fresh(folder / "venv", wheel)
