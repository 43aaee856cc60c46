"""A disk that is full in the middle of a run, and results that may not be written or read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.small_disks import SmallDisk
    from tests.faults.studies import Study


def test_a_full_disk_ends_the_run_and_the_same_command_goes_on(study: Study, small_disk: SmallDisk) -> None:
    study.searchers, study.folds = ("honest", "toy-dice[rows=4]"), (0, 1, 2)
    study.points, study.repetitions = 5, 20
    whole = study.undisturbed()
    with small_disk(study.results, "96k") as disk:
        code, said = study.run(**({} if disk else {"FSIZE": 20_000}))
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
