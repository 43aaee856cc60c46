"""Rows and cells made by hand; distributions for the tests of discovery, folders with METADATA on sys.path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfbench.registry.events import CellInfo

KEY = "0123456789abcdef" * 2
MakeRow = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def info() -> CellInfo:
    return CellInfo(KEY, "credit", "random-forest", "cogs", "none", constraints=True, fold=2, versions={"cogs": "1"})


@pytest.fixture(scope="session")
def make_row() -> MakeRow:
    """Return what makes a search's row as the harness hands it over; keywords change columns."""

    def make(point: int, repetition: int = 0, status: str = "found", **changes: Any) -> dict[str, Any]:
        there = status == "found"
        number = point + repetition / 8
        row = {
            "cell_key": KEY,
            "point": point,
            "row_id": 100 + point,
            "repetition": repetition,
            "status": status,
            "reason": "" if there else f"it was {status}",
            "x": np.array([number, -0.0, 1e-300]),
            "z": np.array([number, 2.0, 0.1]) if there else None,
            "candidates": np.array([[number, 2.0, 0.1], [0.0, 1.0, 2.0]]) if there else np.empty((0, 3)),
            "loss": 0.5 * number if there else float("nan"),
            "gower": 0.25 if there else float("nan"),
            "l0": 2 if there else None,
            "cost": 0.5 if there else None,
            "objective_value": 1.0 - repetition / 8 if there else None,
            "search_queries": 100,
            "robustness_queries": 64,
            "wall_seconds": 0.25,
            "cpu_seconds": 0.125,
            "anytime": ((1, 1.5), (50, 0.5)),
            "figures": {"slack": float("inf"), "bound": 0.125},
            "model_fingerprint": "f" * 32,
        }
        return row | changes

    return make


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Install a distribution: its entry points as (name, value), its modules as name -> source."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    before = set(sys.modules)

    def put(
        distribution: str,
        entry_points: str | dict[str, str],
        modules: dict[str, str],
        *,
        version: str = "1.0",
        group: str = "cfbench",
    ) -> None:
        info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        if isinstance(entry_points, dict):
            lines = [f"{name} = {value}" for name, value in entry_points.items()]
            entry_points = "\n".join([f"[{group}]", *lines, ""])
        (info / "entry_points.txt").write_text(entry_points)
        for module, source in modules.items():
            (site / f"{module}.py").write_text(source)
        importlib.invalidate_caches()

    yield put
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(site) in str(sys.modules[name].__file__):
            del sys.modules[name]
