"""How long the leaderboard takes: ``python benchmarks/leaderboard.py [CELLS] [POINTS]``, by default 300 and 50.

The cells are made up under a fixed seed: two data sets, two models, two objectives, five folds, and as many searchers
as the number of cells asks for. Loading the libraries is timed apart, since the promise (300 cells in a second) is
about what comes after it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TASKS = [
    (dataset, model, objective)
    for dataset in ("credit", "income")
    for model in ("random-forest", "neural-network")
    for objective in ("none", "k")
]
FOLDS = 5


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Print how long the block takes."""
    start = time.perf_counter()
    yield
    print(f"{step:<44}{time.perf_counter() - start:8.3f} s")


def write_record(path: Path, cells: int, points: int) -> None:
    """Write a record of made-up cells, one search a point."""
    import numpy as np

    from cfbench.digests import digest_of
    from cfbench.events import CellInfo
    from cfbench.harness.store.record import Record

    rng = np.random.default_rng(0)
    with Record.open(path, write=True) as record:
        for number in range(cells):
            fold, place = number % FOLDS, number // FOLDS
            dataset, model, objective = TASKS[place % len(TASKS)]
            rank = place // len(TASKS)
            searcher = f"searcher-{rank}" if rank else "cogs"
            content: dict[str, Any] = {
                "dataset": dataset,
                "model": model,
                "searcher": searcher,
                "objective": objective,
                "constraints": False,
                "fold": fold,
            }
            info = CellInfo(digest_of(content), **content)
            rows = []
            for point in range(points):
                loss = float(rng.uniform(0.05, 0.5)) if rng.random() < 0.9 else None
                rows.append(_search(info.key, point, loss))
            # Straight into the table: a journal would wait for the disk 15,000 times.
            record._note(info.key, record._cells.write(info, content, points, rows))


def _search(key: str, point: int, loss: float | None) -> dict[str, Any]:
    return {
        "cell_key": key,
        "point": point,
        "row_id": 7 * point,
        "repetition": 0,
        "status": "not_found" if loss is None else "found",
        "reason": "",
        "x": [0.0],
        "z": None if loss is None else [1.0],
        "candidates": [],
        "loss": loss,
        "gower": loss,
        "l0": None if loss is None else 1,
        "cost": loss,
        "objective_value": loss,
        "search_queries": 101_000,
        "robustness_queries": 0,
        "wall_seconds": 0.7,
        "cpu_seconds": 0.7,
        "anytime": [],
        "figures": {},
        "model_fingerprint": "f" * 32,
    }


def main(cells: int = 300, points: int = 50) -> None:
    """Make the record, then time each step of ``cfbench leaderboard``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results"
        with timed(f"(write a record of {cells} cells, {points} points)"):
            write_record(path, cells, points)
        with timed("load the libraries"):
            import pandas  # noqa: F401, ICN001 - loaded to be timed

            from cfbench.analysis.board import make_board
            from cfbench.harness.store.record import Record
            from cfbench.leaderboard.markdown import render_markdown
            from cfbench.leaderboard.tabular import render_csv, render_json
            from cfbench.leaderboard.terminal import render_text
            from cfbench.registry import build_registry
        with timed("load the plugins"):
            registry = build_registry()
        start = time.perf_counter()
        with timed("read the index"), Record.open(path) as record:
            summaries = record.summaries()
        with timed("compute the board"):
            board = make_board(summaries.values(), registry)
        with timed("render it for a terminal"):
            render_text(board, "results")
        print(f"{'index, board and terminal together':<44}{time.perf_counter() - start:8.3f} s")
        for name, render in (("csv", render_csv), ("json", render_json)):
            with timed(f"render it as {name}"):
                render(board)
        with timed("render it as markdown"):
            render_markdown(board, "results")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
