"""A study to run in processes of its own, a gate at which its searches wait, a small disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.commands import WarmStart
from tests.faults.gates import Gate
from tests.faults.small_disks import SmallDisk, mounted
from tests.faults.studies import Study


@pytest.fixture(scope="session")
def warm_start() -> Iterator[WarmStart]:
    start = WarmStart()
    yield start
    start.close()


@pytest.fixture
def study(warm_start: WarmStart, tmp_path: Path) -> Study:
    (tmp_path / "cache").mkdir(mode=0o700)
    return Study(warm_start, tmp_path)


@pytest.fixture
def gate(study: Study) -> Iterator[Gate]:
    gate = Gate(study.gate)
    yield gate
    gate.end()


@pytest.fixture
def small_disk() -> SmallDisk:
    """Return what mounts a disk of some size on a folder; it yields None where that is not permitted."""
    return mounted
