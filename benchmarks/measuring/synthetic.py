"""Records of any size in no time: every cell has a copy of one cell's searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cfbench import DataSource
from cfbench.caches import cache_dir
from cfbench.record.store import Record
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
    with record.transaction():
        for cell in cells:
            named = [{**row, "cell_key": cell.info.key} for row in rows]
            record.adopt(cell.info, cell.content, len(prepared.row_ids), named)
