"""How long the leaderboard takes: ``python benchmarks/leaderboard.py [CELLS] [POINTS]``, by default 2,000 and 50.

The cells are made up under a fixed seed: five data sets, two models, two objectives, constraints on and off, five
folds, and as many searchers as the number of cells asks for, each cell with nineteen metrics. Loading the libraries is
timed apart, since the promise (2,000 cells in two seconds and 500 MB) is about what comes after it. The whole command
is what somebody who types it waits for; the last lines are about the page: written, its size, opened in a browser.
Seconds are the clock's; beside them stand the processor's, which other work on the machine does not touch.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring.figures import Figure

TASKS = list(
    itertools.product(
        ("credit", "housing", "income", "productivity", "recidivism"),
        ("random-forest", "neural-network"),
        ("none", "k"),
        (False, True),
    )
)
FOLDS = 5
METRICS = 19
COMMAND = "import sys; from cfbench.cli import cli; cli.main(['leaderboard', *sys.argv[1:]])"
BROWSER = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=1000", "--dump-dom")


@contextmanager
def timed(step: str, goal: float | None = None) -> Iterator[None]:
    """Print how long the block takes, and whether the goal is met, in seconds of the clock."""
    start, spent = time.perf_counter(), _spent()
    yield
    seconds, used = time.perf_counter() - start, _spent() - spent
    print(Figure(step, f"{used:.2f} s of CPU", seconds, "s", goal).line())


def _spent() -> float:
    """Return the processor's seconds of this process and of the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def write_record(path: Path, cells: int, points: int) -> None:
    """Write a record of made-up cells, one search a point, with made-up measures."""
    import numpy as np

    from cfbench.digests import digest_of
    from cfbench.record.store import Record
    from cfbench.registry.events import CellInfo

    rng = np.random.default_rng(0)
    with Record.open(path, write=True) as record, record.transaction():
        for number in range(cells):
            fold, place = number % FOLDS, number // FOLDS
            dataset, model, objective, constraints = TASKS[place % len(TASKS)]
            rank = place // len(TASKS)
            searcher = f"searcher-{rank}" if rank else "cogs"
            names = {"dataset": dataset, "model": model, "searcher": searcher, "objective": objective}
            content: dict[str, Any] = {axis: {"name": name, "settings": {}} for axis, name in names.items()}
            content |= {"constraints": constraints, "fold": fold}
            info = CellInfo(digest_of(content), dataset, model, searcher, objective, constraints, fold)
            rows = []
            for point in range(points):
                loss = float(rng.uniform(0.05, 0.5) + 0.01 * rank) if rng.random() < 0.99 else None
                rows.append(_search(info.key, point, loss))
            record.adopt(info, content, points, rows)
            record.write_measures(info.key, _measures(info.key, rows, rng))


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


def _measures(key: str, rows: list[dict[str, Any]], rng: Any) -> Any:
    import numpy as np
    import pandas as pd

    names = ["k-robustness", *(f"metric-{i}" for i in range(1, METRICS))]
    found = np.array([row["loss"] is not None for row in rows])
    values = np.where(found, rng.random((METRICS, len(rows))), np.nan)
    return pd.DataFrame(
        {
            "cell_key": key,
            "metric": np.repeat(names, len(rows)),
            "version": "1",
            "settings": [json.dumps({"m": 1000}, separators=(",", ":"))] * values.size,
            "point": np.tile(np.arange(len(rows)), METRICS),
            "repetition": 0,
            "value": values.ravel(),
        }
    )


def main(cells: int = 2000, points: int = 50) -> None:
    """Make the record, then time each step of ``cfbench leaderboard``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results"
        with timed(f"(write a record of {cells:,} cells, {points} points)"):
            write_record(path, cells, points)
        with timed("load the libraries"):
            import pandas  # noqa: F401, ICN001 - loaded to be timed

            from cfbench.analysis.groups import GroupBy
            from cfbench.board.board import leaderboard_of
            from cfbench.record.store import Record
            from cfbench.registry.registry import build_registry
        with timed("load the plugins"):
            registry = build_registry()
        with timed("read the index"), Record.open(path) as record:
            record.summaries()
        with timed("read the measures"), Record.open(path) as record:
            record.point_values()
        with timed("all of it: read, compute, lay out for a terminal", 2.0):
            with Record.open(path) as record:
                board = leaderboard_of(record, registry)
            str(board)
        for name in ("csv", "json", "markdown", "latex"):
            with timed(f"render it as {name}"):
                board.render(name)
        with timed("a table for each data set"), Record.open(path) as record:
            str(leaderboard_of(record, registry, group_by=GroupBy.DATASET))
        with timed("the whole command"):
            _command("--results", str(path))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(Figure("its peak memory", "", peak, "MB", 500).line())
        page = Path(folder) / "page.html"
        with timed("the whole command, writing the page", 20.0):
            _command("--results", str(path), "--format", "html", "--output", str(page))
        print(Figure("size of the page", "", page.stat().st_size / 1e6, "MB", 1).line())
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        if browser is None:
            print("no chromium here: opening the page is not timed")
            return
        with timed("open it in a browser, starting the browser", 3.0):
            subprocess.run([browser, *BROWSER, page.as_uri()], check=True, capture_output=True)


def _command(*words: str) -> None:
    subprocess.run([sys.executable, "-c", COMMAND, *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
