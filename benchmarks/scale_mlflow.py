"""What MLflow takes of a study's cells: ``python benchmarks/scale_mlflow.py [RUNS ...]``, by default 200 and 500 runs

Five thousand take about ten minutes. The cells are made up: ten searches with a curve of sixty steps, three metrics.
They are logged into an SQLite store without their figures, whose cost does not depend on what the store holds; the last
hundred are logged with them. Seconds are of CPU.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from cfbench.cli.sync import found_reporter
from cfbench.digests import digest_of
from cfbench.record.store import Record
from cfbench.registry import CellFinished
from cfbench.registry.registry import build_registry
from cfbench.study.plan import Cell
from cfbench.tracking.mirror import rebuild_record
from cfbench_reporters import mirror
from cfbench_reporters.cell_files import CellTables
from cfbench_reporters.cell_run import CELL_TAG, cell_run
from measuring.figures import Figure
from measuring.synthetic import fill, plan_of, registry

STUDY = "scale"
STEPS = 60
METRICS = ("k-score[m=32]", "plausibility", "stability")
WITH_FIGURES = 100


class Cells:
    """Finished cells without end, each with a key of its own."""

    def __init__(self, folder: Path) -> None:
        registered = registry()
        plan = plan_of(registered, folder / "r", ["step"], folds=(0,), points=10, repetitions=1)
        self._cell: Cell = plan.cells[0]
        with Record.open(plan.study.results, write=True) as record:
            fill(record, plan.cells, registered)
            self._searches = record.searches(self._cell.info.key)
        rng = np.random.default_rng(0)
        queries = np.unique(np.geomspace(1, 100_000, STEPS).astype(np.int64))
        curves = [np.column_stack([queries, np.sort(rng.random(len(queries)))[::-1]]) for _ in self._searches["point"]]
        self._searches["anytime"] = pd.Series(curves, index=self._searches.index, dtype=object)
        self._searches["loss"] = rng.random(len(self._searches))

    def __call__(self, count: int, start: int) -> Iterator[CellFinished]:
        """Yield so many cells from number `start` on."""
        for number in range(start, start + count):
            content = {**self._cell.content, "seed": number}
            key = digest_of(content)
            searches = self._searches.assign(cell_key=key)
            statuses = Counter(searches["status"])
            yield CellFinished(
                replace(self._cell.info, key=key),
                partial(_tables, searches),
                statuses,
                content=content,
                eligible=100,
            )


def _tables(searches: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return searches, _measures(searches)


def _measures(searches: pd.DataFrame) -> pd.DataFrame:
    place = searches[["cell_key", "point", "repetition"]]
    return pd.concat(
        [place.assign(metric=name, version="1", settings="{}", value=searches["loss"]) for name in METRICS],
        ignore_index=True,
    )


def log(store: mirror.Mirror, cells: Iterator[CellFinished]) -> float:
    """Log cells; return the CPU seconds of one."""
    start, count = time.process_time(), 0
    for event in cells:
        store.log(cell_run(event), CellTables.of(event))
        count += 1
    return (time.process_time() - start) / count


def measure(runs: int, folder: Path) -> Iterator[Figure]:
    """Fill a store with so many runs, and ask of it what commands and the UI ask."""
    from mlflow.tracking import MlflowClient

    address = f"sqlite:///{folder}/mlflow.db"
    store, cells = mirror.Mirror(address, STUDY, folder), Cells(folder)
    size = f"{runs:,} runs"
    log(store, cells(2, 0))
    with patch.object(mirror, "cell_figures", _no_figures):
        log(store, cells(runs - 50 - WITH_FIGURES - 2, 2))
        yield Figure("logging a cell without figures", size, 1e3 * log(store, cells(50, runs)), "ms")
    yield Figure("logging a cell", size, 1e3 * log(store, cells(WITH_FIGURES, 2 * runs)), "ms")
    yield Figure("the database, a run", size, (folder / "mlflow.db").stat().st_size / runs / 1e3, "kB")
    files = [path.stat().st_size for path in (folder / mirror.ARTIFACTS_FOLDER).rglob("*") if path.is_file()]
    yield Figure("files, a run (without figures)", size, len(files) / runs, "")
    client = MlflowClient(tracking_uri=address)
    experiment = client.get_experiment_by_name(STUDY)
    assert experiment is not None
    numbers = [experiment.experiment_id]
    page = client.search_runs(numbers, max_results=100)
    tag = f"tags.`{CELL_TAG}` = '{page[-1].data.tags[CELL_TAG]}'"
    queries: dict[str, dict[str, Any]] = {
        "finding a cell's run": {"filter_string": tag, "max_results": 1},
        "a page of the UI: a hundred runs": {"max_results": 100},
        "the same sorted by a metric": {"max_results": 100, "order_by": ["metrics.loss_mean ASC"]},
        "the same of one data set": {"max_results": 100, "filter_string": "params.dataset = 'halves'"},
    }
    for what, query in queries.items():
        yield Figure(what, size, 1e3 * cpu(client.search_runs, numbers, **query), "ms")
    _, reporter = found_reporter(build_registry())
    reader = reporter.reader(address)
    for what in ("a record rebuilt from there, a cell", "the same again, all known"):
        start = time.process_time()
        rebuild_record(reader, folder / "rebuilt")
        yield Figure(what, size, 1e3 * (time.process_time() - start) / runs, "ms")


def cpu(function: Callable[..., object], *arguments: Any, **named: Any) -> float:
    """Return the CPU seconds of the second of two calls."""
    function(*arguments, **named)
    start = time.process_time()
    function(*arguments, **named)
    return time.process_time() - start


def _no_figures(*_: object) -> dict[str, bytes]:
    return {}


def main(*sizes: int) -> None:
    """Measure every size in turn."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    for runs in sizes or (200, 500):
        with tempfile.TemporaryDirectory() as folder:
            for figure in measure(runs, Path(folder)):
                sys.stdout.write(figure.line() + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
