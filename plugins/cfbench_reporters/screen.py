"""The live display: a bar over all searches, counts by status, the cells at work, the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cfbench_reporters.tally import FAILURES, Tally, described, duration, printable

if TYPE_CHECKING:
    from collections import Counter

_MOST_CELLS = 4
_COLOURS = {"found": "green", **{str(status): "red" for status in FAILURES}}


class Screen:
    """Shows a tally on a terminal until it is stopped.

    Every text reaches rich as Text, never as markup.

    Parameters
    ----------
    tally : Tally
        Read anew four times a second.
    stream : file
        The terminal.
    clock : callable
        The tally's.
    """

    def __init__(self, tally: Tally, stream: TextIO, clock: Callable[[], float]) -> None:
        self._tally = tally
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
        tally, estimate = self._tally, self._tally.estimate
        left = estimate.seconds_left(self._clock())
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(printable(tally.started.study), style="bold", no_wrap=True),
            ProgressBar(total=max(1, estimate.total), completed=estimate.done, width=30),
            Text(f"{estimate.done:,}/{estimate.total:,} searches", no_wrap=True),
            Text(f"{tally.cells_done:,}/{len(tally.started.cells):,} cells", no_wrap=True),
            Text("estimating" if left is None else f"about {duration(left)} left", no_wrap=True),
        )
        shown = [*tally.active.values()][-min(tally.started.workers, _MOST_CELLS) :]
        cells = [
            Text(f"  {described(each.cell)}: {each.searches_done}/{each.searches}", style="dim", overflow="ellipsis")
            for each in shown
        ]
        return Group(head, _counts(tally.statuses), *(cells or [Text("  preparing models", style="dim")]))


def _counts(statuses: Counter[str]) -> Text:
    parts = [
        Text(f"{count:,} {status.replace('_', ' ')}", style=_COLOURS.get(status, ""))
        for status, count in statuses.most_common()
    ]
    return Text("  ").join([Text(""), *parts]) if parts else Text("  no search has ended yet", style="dim")
