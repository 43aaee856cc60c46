"""Fixtures of the tests of the paper's report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from cfbench.record.store import Record
from tests.plugins.paper.records import patterns


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    with Record.open(tmp_path / "results", write=True) as opened:
        yield opened


@pytest.fixture
def robust() -> pd.DataFrame:
    """`patterns`, to be changed."""
    return patterns().copy()
