"""A disk that is full in the middle of a run, and results that may not be written or read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.gates import Gate
    from tests.faults.small_disks import SmallDisk
    from tests.faults.studies import Study

pytestmark = pytest.mark.slow


def test_a_full_disk_ends_the_run_and_the_same_command_goes_on(study: Study, small_disk: SmallDisk) -> None:
    study.searchers, study.folds = ("honest", "toy-dice[rows=4]"), (0, 1, 2)
    study.points, study.repetitions = 5, 20
    whole = study.undisturbed()
    with small_disk(study.results, "512k") as disk:
        code, said = study.run(**({} if disk else {"FSIZE": 200_000}))
        assert code == 1
        for words in ("The disk or the quota is full", "is safe in the record", "then give the same command again"):
            assert words in said
        assert "Traceback" not in said
        before = study.done()
        assert before
        if disk:
            disk.remount("size=10m")
        code, said = study.run()
        assert code == 0
        assert f"{600 - len(before)} searches run" in said
        assert study.digest() == whole


def test_a_read_only_place_is_named_and_left_as_it_is(study: Study, small_disk: SmallDisk) -> None:
    with small_disk(study.results, "10m") as disk:
        assert study.run()[0] == 0
        whole = study.digest()
        if disk:
            disk.remount("ro")
        elif os.geteuid() != 0:
            study.results.chmod(0o555)
            (study.results / "lock").chmod(0o444)
        else:
            pytest.skip("permissions do not bind root, and mounting is not permitted here")
        study.points = 3
        code, said = study.run()
        assert code == 1
        assert ("Read-only file system" if disk else "Permission denied") in said
        assert "or name another results directory with --results" in said
        assert study.digest() == whole
        board = study.command("leaderboard", "--results", str(study.results))
        assert board.wait() == 0
        assert "honest" in board.out.read_text()
        if not disk:
            study.results.chmod(0o755)


@pytest.mark.parametrize("what", ["the directory", "the files", "the database"])
def test_a_record_that_is_deleted_under_a_run_ends_it_with_a_sentence(study: Study, gate: Gate, what: str) -> None:
    study.searchers = ("honest", "waits")
    whole = study.undisturbed()
    gate.close_for("search")
    command = study.begin()
    gate.arrival()
    if what == "the directory":
        shutil.rmtree(study.results)
    else:
        for file in [*study.results.iterdir()] if what == "the files" else [study.results / "record.db"]:
            file.unlink()
    gate.open("search")
    assert command.wait() == 1
    assert f"{Path('results') / 'record.db'} was deleted or replaced while this process wrote it" in (
        command.said().replace(f"{study.folder}/", "")
    )
    assert "Traceback" not in command.said()
    assert "honest" not in command.out.read_text(), "no board of what is left"
    if what == "the database":  # its log is left over and belongs to nothing
        for file in study.results.glob("record.db-*"):
            file.unlink()
    assert study.run()[0] == 0
    assert study.digest() == whole
