from __future__ import annotations

import io
import os
import pty
import re
import select
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import pytest

from cfbench.problem import Status
from cfbench.registry import CellFinished, CellInfo, CellStarted, RunFinished, RunStarted, SearchFinished
from cfbench_reporters.console import ConsoleReporter
from cfbench_reporters.run_counts import RemainingTime, duration, printable
from tests.cells import finished_cell


def _cell(key: str, searcher: str = "cogs") -> CellInfo:
    return CellInfo(key * 32, "credit", "random-forest", searcher, "none", False, 0)


def _started(
    cells: tuple[CellInfo, ...],
    searches: int,
    *,
    workers: int = 1,
    cells_done: int = 0,
    searches_done: int = 0,
    notes: tuple[str, ...] = (),
) -> RunStarted:
    return RunStarted("quick", Path("results"), "", cells, cells_done, searches, searches_done, workers, notes)


def _search(cell: CellInfo, seconds: float, status: Status = Status.FOUND, reason: str = "") -> SearchFinished:
    return SearchFinished(cell, 0, 0, status, reason, 0.5, seconds)


def _failed(cell: CellInfo) -> CellFinished:
    return CellFinished(cell, failure="the model predicts one class only")


class TestEstimate:
    @pytest.mark.parametrize(
        # Cells that have started: searcher, searches, seconds of those that have ended; searchers of further cells.
        ("cells", "waiting", "workers", "now", "expected"),
        [
            ([("cogs", 10, [])], "", 1, 60, None),
            ([("cogs", 10, [3.0, 3.0])], "", 1, 6, 8 * 3),
            ([("cogs", 10, [3.0, 3.0])], "", 2, 3, 8 * 3 / 2),
            # Models take longer than searches.
            ([("cogs", 1, [1.0])], "cogs cogs cogs", 1, 101, 3 * (100 + 1)),
            # Searches of an unknown searcher, or of a cell without any yet, are taken for average ones.
            ([("quick", 3, [1.0]), ("slow", 3, [9.0])], "unknown", 1, 10, 2 * 1 + 2 * 9 + 3 * 5),
            ([("cogs", 3, [1.0]), ("cogs", 3, [9.0]), ("cogs", 3, [])], "", 1, 10, 2 * 1 + 2 * 9 + 3 * 5),
        ],
    )
    def test_seconds_left(
        self, cells: list[tuple[str, int, list[float]]], waiting: str, workers: int, now: int, expected: float | None
    ) -> None:
        searchers = [*(searcher for searcher, _, _ in cells), *waiting.split()]
        planned = tuple(_cell(str(number), searcher) for number, searcher in enumerate(searchers))
        each = cells[0][1]
        estimate = RemainingTime(_started(planned, each * len(planned), workers=workers), now=0)
        for cell, (_, searches, seconds) in zip(planned, cells, strict=False):
            estimate.cell_started(CellStarted(cell, searches, 0))
            for one in seconds:
                estimate.search_finished(_search(cell, one))
        assert estimate.seconds_left(now=now) == (None if expected is None else pytest.approx(expected))

    def test_bounds_give_way_to_numbers_and_failed_cells_to_nothing(self) -> None:
        cells = tuple(_cell(key) for key in "abcd")
        estimate = RemainingTime(_started(cells, 100, cells_done=1, searches_done=25), now=0)
        assert (estimate.done, estimate.total) == (25, 100)
        estimate.cell_started(CellStarted(cells[1], 5, 0))  # a bound of 25 was 5
        assert estimate.total == 80
        estimate.search_finished(_search(cells[1], 1.0))
        estimate.cell_finished(_failed(cells[1]))  # four searches that will not be run
        assert (estimate.done, estimate.total) == (26, 76)
        estimate.cell_finished(_failed(cells[2]))  # failed before it started
        estimate.cell_started(CellStarted(cells[3], 25, 25))
        assert estimate.total == 26
        assert estimate.seconds_left(now=1) == pytest.approx(0)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.2, "0 s"), (99.4, "99 s"), (100, "2 min"), (5_900, "98 min"), (7_500, "2 h 5 min"), (7_199, "2 h 0 min")],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_printable_takes_the_control_sequences_out() -> None:
    assert printable("a\x1b[31mb\r\nc\x07\u202ed") == "a [31mb c d"


class TestPlainLines:
    def test_a_run(self) -> None:
        stream, now = io.StringIO(), [0.0]
        reporter = ConsoleReporter(stream, clock=lambda: now[0])
        cells = (_cell("a"), _cell("b"), _cell("c"))
        reporter.cfbench_run_started(
            _started(cells, 12, workers=2, cells_done=1, searches_done=4, notes=("data set x is skipped",))
        )
        reporter.cfbench_cell_started(CellStarted(cells[1], 4, 0))
        for status in (Status.FOUND, Status.FOUND, Status.NOT_FOUND, Status.FOUND):
            now[0] += 1
            reporter.cfbench_search_finished(_search(cells[1], 2.0, status))
        reporter.cfbench_cell_finished(finished_cell(info=cells[1]))
        reporter.cfbench_cell_finished(_failed(cells[2]))
        now[0] = 150
        reporter.cfbench_run_finished(RunFinished(2, 1, 4, interrupted=False))
        assert stream.getvalue().splitlines() == [
            "quick: 3 cells, up to 12 searches, 2 workers",
            "the record holds 1 finished cell and 4 searches already",
            "note: data set x is skipped",
            "[2/3] cogs on credit, random-forest, none, fold 0: 3 found, 1 not found; about 4 s left",
            "[3/3] cogs on credit, random-forest, none, fold 0: failed: the model predicts one class only",
            "finished after 2 min: 2 of 3 cells done, 1 failed; 4 searches run (3 found, 1 not found)",
        ]

    def test_an_interrupted_run_says_how_to_resume(self) -> None:
        stream = io.StringIO()
        reporter = ConsoleReporter(stream, clock=lambda: 0.0)
        reporter.cfbench_run_started(_started((_cell("a"),), 4))
        reporter.cfbench_run_finished(RunFinished(0, 0, 0, interrupted=True, resume="cfbench run --preset quick"))
        assert "go on with: cfbench run --preset quick" in stream.getvalue()

    def test_reasons_are_shown_once_and_not_without_end(self) -> None:
        stream = io.StringIO()
        reporter = ConsoleReporter(stream, clock=lambda: 0.0)
        cell = _cell("a")
        reporter.cfbench_run_started(_started((cell,), 40))
        for number in [0, 0, 1, 2, 3, 4, 5, 6]:
            reporter.cfbench_search_finished(_search(cell, 1.0, Status.CRASHED, f"error {number}"))
        lines = [line for line in stream.getvalue().splitlines() if line.startswith("crashed:")]
        assert len(lines) == 5
        assert lines[-1].endswith("error 4; further reasons are in the record")

    def test_events_without_a_run_are_ignored(self) -> None:
        stream = io.StringIO()
        reporter = ConsoleReporter(stream)
        reporter.cfbench_cell_started(CellStarted(_cell("a"), 1, 0))
        reporter.cfbench_search_finished(_search(_cell("a"), 1.0))
        reporter.cfbench_cell_finished(finished_cell())
        reporter.cfbench_run_finished(RunFinished(0, 0, 0, interrupted=False))
        assert stream.getvalue() == ""


@dataclass(frozen=True)
class Terminal:
    """A pseudo-terminal: the end that a program writes to, and what reads all that was written since the last time."""

    stream: TextIO
    master: int

    def seen(self) -> str:
        self.stream.flush()
        output = b""
        while select.select([self.master], [], [], 0)[0]:
            output += os.read(self.master, 65536)
        return output.decode()


class TestTerminal:
    def test_the_live_display(self, terminal: Terminal) -> None:
        reporter = ConsoleReporter(terminal.stream, clock=lambda: 0.0)
        cells = (_cell("a"), _cell("b"))
        reporter.cfbench_run_started(_started(cells, 8, notes=("data set x is skipped",)))
        reporter.cfbench_cell_started(CellStarted(cells[0], 4, 0))
        reporter.cfbench_search_finished(_search(cells[0], 30.0))
        reporter.cfbench_search_finished(_search(cells[0], 30.0, Status.CRASHED, "it raised ValueError"))
        reporter.cfbench_cell_finished(_failed(cells[1]))
        reporter.cfbench_run_finished(RunFinished(0, 1, 2, interrupted=True, resume="cfbench run"))
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.seen())
        for expected in (
            "note: data set x is skipped",
            "estimating",
            "preparing models",
            "about 60 s left",
            "2/4 searches",
            "1 found  1 crashed",
            "cogs on credit, random-forest, none, fold 0: 2/4",
            "it raised ValueError",
            "the model predicts one class only",
            "go on with: cfbench run",
        ):
            assert expected in text
        assert terminal.seen() == "", "nothing is drawn after the end"

    def test_the_cursor_comes_back(self, terminal: Terminal) -> None:
        reporter = ConsoleReporter(terminal.stream)
        reporter.cfbench_run_started(_started((_cell("a"),), 8))
        reporter.cfbench_run_finished(RunFinished(0, 0, 0, interrupted=False))
        output = terminal.seen()
        assert output.rindex("\x1b[?25h") > output.rindex("\x1b[?25l")

    def test_names_steer_nothing(self, terminal: Terminal) -> None:
        reporter = ConsoleReporter(terminal.stream, clock=lambda: 0.0)
        cell = replace(_cell("a", searcher="[bold]x[/bold]"), dataset="\x1b]0;owned\x07\x1b[2J")
        started = _started((cell,), 8, notes=("[link=http://example.org]\x1b[31mred",))
        reporter.cfbench_run_started(replace(started, study="\x1b[5mblink[/]"))
        reporter.cfbench_cell_started(CellStarted(cell, 4, 0))
        reporter.cfbench_search_finished(_search(cell, 30.0, Status.CRASHED, "\x1b[2J[/nothing]"))
        reporter.cfbench_run_finished(RunFinished(0, 0, 1, interrupted=False))
        output = terminal.seen()
        assert not any(sequence in output for sequence in ("\x1b]", "\x1b[2J", "\x1b[5m", "\x1b[31mred", "\x07"))
        assert "[bold]x[/bold]" in output
        assert "[link=http://example.org]" in output
        assert "[/nothing]" in output

    def test_a_dumb_terminal_gets_plain_lines(self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "dumb")
        reporter = ConsoleReporter(terminal.stream)
        reporter.cfbench_run_started(_started((_cell("a"),), 8))
        assert terminal.seen() == "quick: 1 cell, up to 8 searches, 1 worker\r\n"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor, not a path
        yield Terminal(stream, master)
    os.close(master)
