"""The note of a cell's run: what was run, and the command that runs it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cfbench import CellFinished, CellInfo
from cfbench_reporters.tally import described, printable, several

if TYPE_CHECKING:
    import pandas as pd


def cell_note(event: CellFinished) -> str:
    """Describe a finished cell, in Markdown."""
    assert event.searches is not None
    searches = event.searches
    points, found = searches["point"].nunique(), int(searches["loss"].notna().sum())
    of_fold = f" of {event.eligible:,} in the fold" if event.eligible else ""
    return "\n".join(
        [
            f"{_plain(described(event.cell))}: {several(len(searches), 'search', 'searches')} on "
            f"{several(points, 'point', 'points')}{of_fold}, {found:,} found.",
            "",
            "To run it again:",
            "",
            "```sh",
            _plain(command_again(event.cell, event.content, searches)),
            "```",
            "",
            "`searches.parquet` holds every search, `measures.parquet` what metrics say about them; the metric "
            "`anytime_loss` is the median best loss so far, its step the rows asked.",
        ]
    )


def command_again(cell: CellInfo, content: Mapping[str, Any], searches: pd.DataFrame) -> str:
    """Return the command that runs a cell's searches anew, into a record of their own.

    Parameters
    ----------
    cell : CellInfo
    content : mapping
        All that the cell's key is a digest of; without it, the defaults of limits, steps and seed are left to cfbench.
    searches : DataFrame
    """
    words = ["cfbench", "run"]
    words += ["--dataset", cell.dataset, "--model", cell.model]
    words += ["--searcher", cell.searcher, "--objective", cell.objective]
    words += ["--constraints", "on" if cell.constraints else "off", "--fold", str(cell.fold)]
    words += ["--points", str(int(searches["point"].max()) + 1)]
    words += ["--repetitions", str(int(searches["repetition"].max()) + 1)]
    for key, option in (("query_budget", "--query-budget"), ("time_limit", "--time-limit"), ("seed", "--seed")):
        if content.get(key) is not None:
            words += [option, f"{content[key]:g}" if isinstance(content[key], float) else str(content[key])]
    if content.get("respect_steps"):
        words.append("--respect-steps")
    return shlex.join([*words, "--results", "again"])


def _plain(text: str) -> str:
    """Keep what could end a block of code, or steer a reader's terminal, out of a note."""
    return printable(text).replace("`", "'")
