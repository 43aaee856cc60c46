"""Records of any size in no time: every cell has a copy of one table, and its own line in the index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cfbench import DataSource
from cfbench.caches import cache_dir
from cfbench.record.cell_line import CellLine, done_of, summary_of
from cfbench.record.layout import table_path
from cfbench.record.record import Record
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.running.search import SearchTask
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Cell, Plan, make_plan
from cfbench.study.study import Study

PLUGIN = Path(__file__).with_name("scale_plugin.py")
OPTIONS = RegistryOptions(plugins=(str(PLUGIN),))
SOURCE = DataSource((), cache_dir(), download=False)


def registry() -> Registry:
    """Return the registry with the plugin that is measured with."""
    return build_registry(OPTIONS)


def plan_of(registered: Registry, results: Path, searchers: Sequence[str], **changes: object) -> Plan:
    """Plan a study on the plugin's table and model."""
    keys: dict[str, object] = {
        "name": "scale",
        "datasets": ("halves",),
        "models": ("half",),
        "searchers": tuple(searchers),
        "metrics": (),
        "tracking": "none",
        "results": results,
    }
    return make_plan(Study.model_validate({**keys, **changes}), registered, SOURCE)


def setup() -> WorkerSetup:
    """Return what workers need."""
    return WorkerSetup(OPTIONS, SOURCE, cache_dir())


def fill(record: Record, cells: Sequence[Cell], registered: Registry) -> None:
    """Write `cells` as finished, with the searches of the first one."""
    worker = Worker(setup(), registered)
    first = cells[0]
    prepared = worker.prepare(first)
    points = range(first.points or len(prepared.row_ids))
    rows = [
        worker.search(SearchTask(first, point, prepared.row_ids[point], repetition))
        for point in points
        for repetition in range(first.repetitions)
    ]
    with without_waiting():
        record.adopt(first.info, first.content, len(prepared.row_ids), rows)
        line = record._index.get(first.info.key)
        assert line is not None
        summary, mark, done = summary_of(line), line["mark"], done_of(line)
        table = table_path(record.path / "cells", first.info.key).read_bytes()
        for cell in cells[1:]:
            path = table_path(record.path / "cells", cell.info.key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(table)
            record._note(cell.info.key, CellLine(replace(summary, info=cell.info, content=cell.content), mark, done))


@contextmanager
def without_waiting() -> Iterator[None]:
    """Do not wait for the disk: nobody needs these records after a power cut."""
    wait = os.fsync
    os.fsync = _nothing
    try:
        yield
    finally:
        os.fsync = wait


def _nothing(fd: object) -> None:
    """Stand in for what waits for the disk."""
