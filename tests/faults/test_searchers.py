"""Searchers that fork, flood, hoard, or raise what means an end: each costs its own searches, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cfbench import load_record

if TYPE_CHECKING:
    from tests.faults.small_disks import SmallDisk
    from tests.faults.studies import Study

pytestmark = pytest.mark.slow

ENDINGS = {
    "forks-and-returns-twice": ("found", ""),
    "forks-and-raises-twice": ("found", ""),
    "floods-standard-output": ("found", ""),
    "raises-keyboard-interrupt": ("crashed", "KeyboardInterrupt: as if somebody had asked for it (fault_plugin.py:"),
    "raises-system-exit": ("crashed", "SystemExit: I have seen enough (fault_plugin.py:"),
}


@pytest.mark.parametrize("workers", [1, 2], ids=["in the main process", "in two workers"])
def test_a_searcher_that_misbehaves_costs_its_own_searches_alone(study: Study, workers: int) -> None:
    whole = study.undisturbed()
    study.searchers, study.workers = (*ENDINGS, "honest"), workers
    command = study.begin()
    assert command.wait() == 0
    frame = load_record(study.results)
    assert len(frame) == 4 * (len(ENDINGS) + 1)  # a copy that a searcher forked adds nothing
    for name, (status, words) in ENDINGS.items():
        rows = frame[frame["searcher"] == name]
        assert set(rows["status"]) == {status}, name
        assert rows["reason"].str.startswith(words).all()
    assert whole.items() <= study.digest().items()
    assert "thinking aloud" not in command.out.read_text()
    assert command.err.read_text().count("thinking aloud") == 4 * 2 * 4096 * 64
    assert command.is_alone()


def test_a_worker_out_of_memory_is_replaced(study: Study) -> None:
    whole = study.undisturbed()
    study.searchers, study.workers = ("asks-for-too-much-memory", "honest"), 2
    code, said = study.run(AS=12 * 2**30)
    assert code == 0
    assert set(_reasons(study, "asks-for-too-much-memory")) == {"its process could have no more memory"}
    assert "asks-for-too-much-memory" in said
    assert whole.items() <= study.digest().items()


def test_a_full_temporary_folder_costs_nobody_else_anything(study: Study, small_disk: SmallDisk) -> None:
    whole = study.undisturbed()
    study.searchers = ("fills-its-temporary-folder", "honest")
    folder = study.folder / "tmp"
    with small_disk(folder, "1m") as disk:
        study.environment["TMPDIR"] = str(folder)
        code, _ = study.run(**({} if disk else {"FSIZE": 2**20}))
    assert code == 0
    words = "No space left on device" if disk else "File too large"
    assert all(words in reason for reason in _reasons(study, "fills-its-temporary-folder"))
    assert whole.items() <= study.digest().items()


def _reasons(study: Study, searcher: str) -> list[str]:
    frame = load_record(study.results)
    reasons: list[str] = frame.loc[frame["searcher"] == searcher, "reason"].tolist()
    return reasons
