"""The console reporter: a live display on a terminal, sparse plain lines everywhere else. Writes to stderr."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cfbench import hookimpl
from cfbench.registry import CellFinished, CellStarted, RunFinished, RunStarted, SearchFinished
from cfbench_reporters.run_counts import (
    FAILURES,
    RemainingTime,
    RunCounts,
    counted,
    described,
    duration,
    printable,
    several,
)

_MOST_CELLS = 4
_COLOURS = {"found": "green", **{str(status): "red" for status in FAILURES}}


class Screen:
    """Shows a tally on a terminal until it is stopped.

    Every text reaches rich as Text, never as markup.

    `counts`: read anew four times a second. `stream`: the terminal. `clock`: the tally's.
    """

    def __init__(self, counts: RunCounts, stream: TextIO, clock: Callable[[], float]) -> None:
        self._counts = counts
        self._clock = clock
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        # A plugin's print goes above the bar, except where the reader has sent stdout elsewhere.
        self._live = Live(
            get_renderable=self.render, console=self._console, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._live.start()

    def say(self, line: str, *, failure: bool = False) -> None:
        """Print a line above the bar."""
        self._console.print(Text(line, style="red" if failure else ""))

    def stop(self) -> None:
        """Take the display away and give the cursor back."""
        self._live.stop()

    def render(self) -> Group:
        """Return what is to be seen now."""
        counts, estimate = self._counts, self._counts.estimate
        left = estimate.seconds_left(self._clock())
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(printable(counts.started.study), style="bold", no_wrap=True),
            ProgressBar(total=max(1, estimate.total), completed=estimate.done, width=30),
            Text(f"{estimate.done:,}/{estimate.total:,} searches", no_wrap=True),
            Text(f"{counts.cells_done:,}/{len(counts.started.cells):,} cells", no_wrap=True),
            Text("estimating" if left is None else f"about {duration(left)} left", no_wrap=True),
        )
        shown = [*counts.active.values()][-min(counts.started.workers, _MOST_CELLS) :]
        cells = [
            Text(f"  {described(each.cell)}: {each.searches_done}/{each.searches}", style="dim", overflow="ellipsis")
            for each in shown
        ]
        return Group(head, _counts(counts.statuses), *(cells or [Text("  preparing models", style="dim")]))


def _counts(statuses: Counter[str]) -> Text:
    parts = [
        Text(f"{count:,} {status.replace('_', ' ')}", style=_COLOURS.get(status, ""))
        for status, count in statuses.most_common()
    ]
    return Text("  ").join([Text(""), *parts]) if parts else Text("  no search has ended yet", style="dim")


_REASONS_SHOWN = 5
"""Reasons of failed searches that are shown of each searcher; a broken one would otherwise fill the screen."""


class ConsoleReporter:
    """Shows a run's progress.

    `stream`: stderr where it is not given: stdout belongs to the leaderboard. `clock`: seconds, from any fixed moment.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._began = 0.0
        self._counts: RunCounts | None = None
        self._screen: Screen | None = None
        self._reasons: dict[str, set[str]] = {}

    @hookimpl
    def cfbench_run_started(self, event: RunStarted) -> None:
        """Say what is going to happen, and open the live display where there is a terminal."""
        self._close()
        self._began = self._clock()
        self._counts = RunCounts(event, RemainingTime(event, self._began), event.cells_done)
        self._reasons = {}
        stream = self._stream or sys.stderr
        if stream.isatty() and os.environ.get("TERM") != "dumb":
            self._screen = Screen(self._counts, stream, self._clock)
            # An error that ends the program before the run has finished must not leave a terminal without a cursor.
            atexit.register(self._close)
        searches = several(event.searches, "search", "searches")
        workers = several(event.workers, "worker", "workers")
        self._say(f"{event.study}: {several(len(event.cells), 'cell', 'cells')}, up to {searches}, {workers}")
        if event.searches_done:
            done = several(event.cells_done, "finished cell", "finished cells")
            self._say(f"the record holds {done} and {several(event.searches_done, 'search', 'searches')} already")
        for note in event.notes:
            self._say(f"note: {note}")

    @hookimpl
    def cfbench_cell_started(self, event: CellStarted) -> None:
        """Show the cell among those at work."""
        if self._counts is not None:
            self._counts.cell_started(event)

    @hookimpl
    def cfbench_search_finished(self, event: SearchFinished) -> None:
        """Count the search; show why it failed, once a reason."""
        if self._counts is None:
            return
        self._counts.search_finished(event)
        seen = self._reasons.setdefault(event.cell.searcher, set())
        if event.status not in FAILURES or event.reason in seen or len(seen) >= _REASONS_SHOWN:
            return
        seen.add(event.reason)
        last = "; further reasons are in the record" if len(seen) == _REASONS_SHOWN else ""
        status = str(event.status).replace("_", " ")
        self._say(f"{status}: {described(event.cell)}, point {event.point}: {event.reason}{last}", failure=True)

    @hookimpl
    def cfbench_cell_finished(self, event: CellFinished) -> None:
        """Count the cell; without a live display, a line says so."""
        counts = self._counts
        if counts is None:
            return
        counts.cell_finished(event)
        ended = f"[{counts.cells_done + counts.cells_failed}/{len(counts.started.cells)}] {described(event.cell)}"
        if event.failure:
            self._say(f"{ended}: failed: {event.failure}", failure=True)
        elif self._screen is None:
            left = counts.estimate.seconds_left(self._clock())
            about = "" if not left else f"; about {duration(left)} left"
            self._say(f"{ended}: {counted(Counter(event.statuses))}{about}")
        for warning in event.warnings:
            self._say(f"warning: {described(event.cell)}: {warning}")

    @hookimpl
    def cfbench_run_finished(self, event: RunFinished) -> None:
        """Take the display away and sum up."""
        counts = self._counts
        if counts is None:
            return
        failed = f", {event.cells_failed:,} failed" if event.cells_failed else ""
        outcomes = f" ({counted(counts.statuses)})" if counts.statuses else ""
        took = duration(self._clock() - self._began)
        self._close()
        self._say(
            f"{'interrupted' if event.interrupted else 'finished'} after {took}: {event.cells_done:,} of "
            f"{several(len(counts.started.cells), 'cell', 'cells')} done{failed}; "
            f"{several(event.searches_run, 'search', 'searches')} run{outcomes}"
        )
        if event.interrupted:
            self._say("every finished search is in the record" + (f"; go on with: {event.resume}" * bool(event.resume)))
        self._counts = None

    def _say(self, line: str, *, failure: bool = False) -> None:
        if self._screen is not None:
            self._screen.say(printable(line), failure=failure)
        else:
            print(printable(line), file=self._stream or sys.stderr, flush=True)

    def _close(self) -> None:
        if self._screen is not None:
            self._screen.stop()
            self._screen = None
            atexit.unregister(self._close)
