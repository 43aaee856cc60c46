"""The published record is sound by what is proven about it; one with a result that cannot be is not."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from cfbench.analysis.guards import guard
from cfbench.harness.store.record import Record
from cfbench.registry import build_registry

PUBLISHED = Path(__file__).parents[3] / "leaderboard" / "record"


def test_no_published_result_is_below_the_optimum() -> None:
    with Record.open(PUBLISHED) as record:
        guarded = guard(record, build_registry())
    assert guarded.violations == []
    assert guarded.gaps > 300


def test_a_published_result_below_the_optimum_would_be_noticed(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    changed = Path(shutil.copytree(PUBLISHED, tmp_path / "record"))
    with Record.open(PUBLISHED) as record:
        key = next(
            key
            for key, cell in record.summaries().items()
            if (cell.info.dataset, cell.info.searcher) == ("credit", "random-search")
            and (cell.info.model, cell.info.objective) == ("random-forest", "none")
        )
        row_id = record.summaries()[key].row_ids[0]
    table = pq.read_table(changed / "searches.parquet")
    cell_keys, points, values = (table[name].to_pylist() for name in ("cell_key", "point", "objective_value"))
    # A single change costs more, being one: 1 / 40.
    cheaper = [
        1e-3 if value is not None and (own, point) == (key, 0) else value
        for own, point, value in zip(cell_keys, points, values, strict=True)
    ]
    assert cheaper != values
    column = table.column_names.index("objective_value")
    table = table.set_column(column, table.schema.field(column), pa.array(cheaper, pa.float64()))
    pq.write_table(table, changed / "searches.parquet")
    about = json.loads((changed / "packed.json").read_text())
    written = (changed / "searches.parquet").read_bytes()
    about["files"]["searches.parquet"] = hashlib.blake2b(written, digest_size=16).hexdigest()
    (changed / "packed.json").write_text(json.dumps(about))
    with Record.open(changed) as record:
        guarded = guard(record, build_registry())
    assert len(guarded.violations) == 1
    assert "below the optimum on credit, random-forest" in guarded.violations[0]
    assert f"row {row_id}:" in guarded.violations[0]
