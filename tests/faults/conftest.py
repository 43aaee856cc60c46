"""A study to run in processes of its own, a gate at which its searches wait, a small disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.gates import Gate
from tests.faults.small_disks import SmallDisk, mounted
from tests.faults.studies import Study


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the records that nothing has happened to, one per study."""
    return tmp_path_factory.mktemp("undisturbed")


@pytest.fixture
def study(tmp_path: Path, undisturbed: Path) -> Iterator[Study]:
    (tmp_path / "cache").mkdir(mode=0o700)
    study = Study(tmp_path, undisturbed)
    yield study
    study.end()


@pytest.fixture
def gate(study: Study) -> Iterator[Gate]:
    gate = Gate(study.gate)
    yield gate
    gate.end()


@pytest.fixture
def small_disk() -> SmallDisk:
    """Return what mounts a disk of some size on a folder; it yields None where that is not permitted."""
    return mounted
