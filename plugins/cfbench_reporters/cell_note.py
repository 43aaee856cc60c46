"""The note of a cell's run: what was run, and the command that runs it again."""

from __future__ import annotations

from cfbench import CellFinished, command_again
from cfbench_reporters.tally import described, printable, several


def cell_note(event: CellFinished) -> str:
    """Describe a finished cell, in Markdown."""
    assert event.searches is not None
    searches = event.searches
    points, found = searches["point"].nunique(), int(searches["loss"].notna().sum())
    repetitions = int(searches["repetition"].max()) + 1
    command = command_again(
        [event.cell], event.content, points=int(searches["point"].max()) + 1, repetitions=repetitions
    )
    of_fold = f" of {event.eligible:,} in the fold" if event.eligible else ""
    return "\n".join(
        [
            f"{_plain(described(event.cell))}: {several(len(searches), 'search', 'searches')} on "
            f"{several(points, 'point', 'points')}{of_fold}, {found:,} found.",
            "",
            "To run it again:",
            "",
            "```sh",
            _plain(command),
            "```",
            "",
            "`searches.parquet` holds every search, `measures.parquet` what metrics say about them; the metric "
            "`anytime_loss` is the median best loss so far, its step the rows asked.",
        ]
    )


def _plain(text: str) -> str:
    """Keep what could end a block of code, or steer a reader's terminal, out of a note."""
    return printable(text).replace("`", "'")
