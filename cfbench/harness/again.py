"""The command that runs cells again, for readers of a board, a note or a report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from cfbench.events import CellInfo


def command_again(
    cells: Sequence[CellInfo],
    content: Mapping[str, Any],
    *,
    points: int,
    repetitions: int,
    results: str = "again",
    command: str = "cfbench",
    plugins: Sequence[str] = (),
) -> str:
    """Return the command that runs the searches of some cells, into a record of their own or the one given.

    Parameters
    ----------
    cells : sequence of CellInfo
        At least one. Every combination of their data sets, models and so on is run.
    content : mapping
        All that one of their keys is a digest of: limits, steps and seed are taken from it; without it they are left
        to cfbench.
    points, repetitions : int
    results : str
        The directory of that record.
    command : str
        What the user types for ``cfbench``.
    plugins : sequence of str
        Modules and files that have to be registered.
    """
    words = [command, "run"]
    for plugin in plugins:
        words += ["--plugin", plugin]
    for option, name in (
        ("--dataset", "dataset"),
        ("--model", "model"),
        ("--searcher", "searcher"),
        ("--objective", "objective"),
    ):
        for value in dict.fromkeys(getattr(cell, name) for cell in cells):
            words += [option, value]
    switches = {cell.constraints for cell in cells}
    words += ["--constraints", "both" if len(switches) == 2 else "on" if True in switches else "off"]
    for fold in sorted({cell.fold for cell in cells}):
        words += ["--fold", str(fold)]
    words += ["--points", str(points), "--repetitions", str(repetitions)]
    for key, option in (("query_budget", "--query-budget"), ("time_limit", "--time-limit"), ("seed", "--seed")):
        if content.get(key) is not None:
            words += [option, f"{content[key]:g}" if isinstance(content[key], float) else str(content[key])]
    if content.get("respect_steps"):
        words.append("--respect-steps")
    return shlex.join([*words, "--results", results])
