"""What grows with the cells of a record: ``python benchmarks/scale_record.py [CELLS ...]``, by default 1,000 and 10,000

A hundred thousand take some minutes. Every cell has ten searches; there are twenty searchers, five folds, and as many
models as the number of cells asks for. Seconds are of CPU, memory is resident.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cfbench.record.store import Record
from cfbench.running.estimate import Durations
from cfbench.running.progress import Metrics, planned_cells
from measuring.synthetic import fill, plan_of, registry

POINTS = 10
FOLDS = (0, 1, 2, 3, 4)
SEARCHERS = 20


def timed(what: str, function: Callable[[], Any]) -> Any:
    """Call, and print how long it took."""
    start = time.process_time()
    result = function()
    sys.stdout.write(f"  {what:<58}{time.process_time() - start:9.2f} s\n")
    sys.stdout.flush()
    return result


def measure(cells: int, folder: Path) -> None:
    """Make a record of so many cells, and ask of it what commands ask."""
    from cfbench.analysis.board import make_board

    registered = registry()
    sys.stdout.write(f"{cells:,} cells, {cells * POINTS:,} searches\n")
    searchers = [f"step[number={i}]" for i in range(SEARCHERS)]
    models = [f"half[number={i}]" for i in range(cells // len(FOLDS) // SEARCHERS)]
    results = folder / "results"
    asked: dict[str, Any] = {"models": models, "points": POINTS, "repetitions": 1, "folds": FOLDS}
    plan = timed("plan the cells", lambda: plan_of(registered, results, searchers, **asked))
    with Record.open(results, write=True) as record:
        fill(record, plan.cells, registered)
    size = (results / "record.db").stat().st_size
    sys.stdout.write(f"  database: {size / cells:,.0f} bytes per cell\n")
    timed("open for writing, as a run does, and close", lambda: Record.open(results, write=True).close())
    with Record.open(results) as record:
        metrics = Metrics((), registered)
        left = timed(
            "compare the plan with the record, as a resumed run does",
            lambda: sum(cell.missing for cell in planned_cells(plan, record, metrics, (), Durations())),
        )
        assert left == 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sys.stdout.write(f"  peak memory of a run so far {peak:>38,.0f} MB\n")
        summaries = timed("read all summaries, as the leaderboard does", record.summaries)
        timed("compute the board", lambda: make_board(summaries.values(), registered, need_reference=False))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"  peak memory of the leaderboard {peak:>35,.0f} MB\n")


def main(*sizes: int) -> None:
    """Measure every size in turn."""
    for cells in sizes or (1_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            measure(cells, Path(folder))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
