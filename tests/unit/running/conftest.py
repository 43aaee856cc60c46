"""A small study on the toy plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toys.runs import Toys


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    return Toys(tmp_path / "cache")
