"""kill -9, of the main process again and again, and of workers: what had ended is there, and what is missing runs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from typing import TYPE_CHECKING

import pytest

from cfbench import load_record
from cfbench.record.store import Record

if TYPE_CHECKING:
    from tests.faults.commands import Command
    from tests.faults.gates import Gate
    from tests.faults.studies import Study

pytestmark = pytest.mark.slow

KILLS = 20


def test_twenty_kills_of_the_main_process_change_nothing(study: Study) -> None:
    rng = random.Random(8)
    study.searchers, study.folds, study.points = ("honest", "toy-dice[rows=4]"), (0, 1, 2, 3, 4), 5
    study.repetitions = 0
    kills, done = 0, dict[tuple[str, int, int], str]()
    while kills < KILLS:
        study.repetitions += 3  # every cell is opened again, and 150 searches are to be run
        # Every fifth run has workers of its own, which end with it.
        study.workers = 2 if kills % 5 == 4 else 1
        command = study.begin()
        _wait_for(study, command, rng.randrange(150))
        time.sleep(rng.random() / 50)  # whatever the moment, what follows has to hold
        command.kill()
        code = command.wait()
        assert code in (-signal.SIGKILL, 0), command.said()
        kills += code == -signal.SIGKILL  # otherwise the run had ended before
        assert command.is_alone()
        before, done = done, study.done() if (study.results / "record.db").exists() else {}
        assert before.items() <= done.items()
    study.workers = 1
    code, said = study.run()
    assert code == 0
    assert f"{50 * study.repetitions - len(done):,} searches run" in said
    assert study.spoilt() == []
    with Record.open(study.results) as record:
        assert record.pending() == set()
        assert record.problems == []


def _wait_for(study: Study, command: Command, searches: int) -> None:
    """Return when so many searches have come into the record since the start, or the run has ended."""
    first: int | None = None
    while not command.is_over(0.005):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(_database(study)) as connection:
            count = connection.execute("SELECT count(*) FROM searches").fetchone()[0]
            first = count if first is None else first
            if count - first >= searches:
                return


def _database(study: Study) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{study.results / 'record.db'}?mode=ro", uri=True)


def test_a_killed_worker_costs_the_search_that_it_was_at(study: Study, gate: Gate) -> None:
    study.searchers, study.workers = ("waits", "honest"), 2
    whole = study.undisturbed()
    gate.close_for("search")
    command = study.begin()
    worker = gate.arrival()
    assert worker != command.number
    gate.open_for_the_next("search")
    os.kill(worker, signal.SIGKILL)
    assert command.wait() == 0
    assert "its process was killed by SIGKILL" in command.said()
    assert "--retry crashed   the searches that crashed (1), once more" in command.out.read_text()
    frame = load_record(study.results)
    crashed = frame[frame["status"] == "crashed"]
    assert crashed["searcher"].tolist() == ["waits"]
    assert set(frame["status"]) == {"found", "crashed"}
    assert study.run("--retry", "crashed")[0] == 0
    assert study.digest() == whole


def test_a_worker_that_is_killed_while_it_fits_a_model_fails_its_cells_until_the_next_run(
    study: Study, gate: Gate
) -> None:
    study.model, study.workers = "slow-to-fit", 2
    gate.close_for("fit")
    command = study.begin()
    worker = gate.arrival()
    gate.open_for_the_next("fit")
    os.kill(worker, signal.SIGKILL)
    assert command.wait() == 1
    assert "its process was killed by SIGKILL" in command.said()
    assert "the cells that failed (1), once more" in command.out.read_text()
    assert command.is_alone()
    assert study.run()[0] == 0
    assert study.spoilt() == []
