"""Distributions for the tests of discovery: folders with METADATA and entry_points.txt on sys.path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


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
        requires: str = "",
    ) -> None:
        info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata + (f"Requires-Dist: {requires}\n" if requires else ""))
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
