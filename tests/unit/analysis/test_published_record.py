"""The published record is sound by what is proven about it; one with a result that cannot be is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfbench.record.store import Record
from cfbench.registry.registry import build_registry
from tests.unit.analysis.guards import guard

pytestmark = pytest.mark.slow

PUBLISHED = Path(__file__).parents[3] / "leaderboard" / "record"
PLACE = ("credit", "random-forest", "none", False, 0)


def test_no_published_result_is_impossible() -> None:
    with Record.open(PUBLISHED) as record:
        guarded = guard(record, build_registry())
    assert guarded.violations == []
    assert guarded.gaps > 2400
    assert guarded.scores > 3000


def test_a_published_result_below_the_optimum_would_be_noticed(tmp_path: Path) -> None:
    with Record.open(PUBLISHED) as record, Record.open(tmp_path / "changed", write=True) as changed:
        cells = {
            cell.info.searcher: cell
            for cell in record.summaries().values()
            if (cell.info.dataset, cell.info.model, cell.info.objective, cell.info.constraints, cell.info.fold) == PLACE
        }
        for searcher in ("exact-trees", "random-search"):
            cell = cells[searcher]
            rows = sorted(record.rows(cell.info.key), key=lambda row: int(row["point"]))
            if searcher == "random-search":
                rows[0] = {**rows[0], "objective_value": 1e-3}  # a single change costs more, being one: 1 / 40
            changed.adopt(cell.info, cell.content, cell.eligible, rows)
        guarded = guard(changed, build_registry())
    assert guarded.gaps == 10
    (violation,) = guarded.violations
    row_id = cells["random-search"].row_ids[0]
    assert violation.startswith("random-search has a result 0.9")
    assert f"below the optimum on credit, random-forest, objective none, fold 0, row {row_id}:" in violation
