"""A run that was stopped goes on where it was, whatever stopped it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cfbench.errors import RecordError
from cfbench.record.store import Record
from tests.databases import record_digest

if TYPE_CHECKING:
    from tests.toys.runs import Toys

pytestmark = pytest.mark.slow


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.toys.runs import Toys
from tests.databases import record_digest
if __name__ == "__main__":
    toys = Toys(Path({cache!r}))
    asked = dict(workers=2, searchers={searchers!r}, folds=(0, 1, 2), points=5)
    report = toys.run(Path({results!r}), toys.processes(2), **asked)
    print(report.interrupted, report.searches_run)
"""


def _start(toys: Toys, results: Path, searchers: tuple[str, ...]) -> subprocess.Popen[str]:
    script = results.parent / "script.py"
    root = str(Path(__file__).parents[3])
    script.write_text(
        SCRIPT.format(root=root, cache=str(toys.setup.cache_dir), results=str(results), searchers=searchers)
    )
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True)


def _wait_for_rows(results: Path, rows: int) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with contextlib.suppress(RecordError), Record.open(results) as record:  # there may be none yet
            if sum(len(record.done(key)) for key in record.pending()) >= rows:
                return
        time.sleep(0.01)  # polls a process that works meanwhile
    raise AssertionError("the run did not get going")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on_where_it_stopped(toys: Toys, tmp_path: Path, number: signal.Signals) -> None:
    results = tmp_path / "r"
    process = _start(toys, results, ("toy-dice", "toy-hang"))
    _wait_for_rows(results, 2)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=300)
    assert (out.split() or ["killed"])[0] == ("True" if number is signal.SIGINT else "killed")
    with Record.open(results) as record:
        before = sum(len(record.done(cell.info.key)) for cell in toys.plan(results, folds=(0, 1, 2)).cells)
    assert before >= 2

    report = toys.run(results, folds=(0, 1, 2), points=5)
    assert report.searches_run == 30 - before
    toys.run(tmp_path / "whole", folds=(0, 1, 2), points=5)
    whole = record_digest(tmp_path / "whole")
    assert {key: record_digest(results)[key] for key in whole} == whole


def test_a_grown_cell_that_a_kill_kept_from_its_end_is_ended_without_a_search(toys: Toys, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"folds": (0,), "points": 3}
    toys.run(tmp_path / "whole", **asked)
    toys.run(tmp_path / "r", **{**asked, "points": 2})
    (cell,) = toys.plan(tmp_path / "r", **asked).cells
    with Record.open(tmp_path / "whole") as whole, Record.open(tmp_path / "r", write=True) as record:
        # All that the last searches of a growing cell leave behind before the cell is ended.
        record.append_all(row for row in whole.rows(cell.info.key) if row["point"] == 2)
    report = toys.run(tmp_path / "r", **asked)
    assert (report.cells_done, report.searches_run) == (1, 0)
    with Record.open(tmp_path / "r") as record:
        assert record.pending() == set()
    assert record_digest(tmp_path / "r") == record_digest(tmp_path / "whole")
