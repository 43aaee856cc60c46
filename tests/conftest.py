"""Fixtures of the tests around tracking: finished cells made by hand, and an MLflow store that needs no migration."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from cfbench import SEARCH_SCHEMA, CellFinished, CellInfo
from cfbench.harness.frames import search_frame
from cfbench.harness.record import Record

FinishedCell = Callable[..., CellFinished]


@pytest.fixture(scope="session")
def finished_cell() -> FinishedCell:
    """Return what makes the event of a finished cell: a search a loss, in the order of points and repetitions."""

    def make(
        losses: Sequence[float | None] = (0.25, 0.5, None, 0.75),
        *,
        info: CellInfo | None = None,
        repetitions: int = 1,
        statuses: Sequence[str] = (),
        objective_values: Sequence[float | None] = (),
        measures: pd.DataFrame | None = None,
    ) -> CellFinished:
        info = info or CellInfo("0" * 31 + "1", "credit", "random-forest", "cogs", "none", False, 0, {"cogs": "1"})
        rows = []
        for i, loss in enumerate(losses):
            status = statuses[i] if statuses else "not_found" if loss is None else "found"
            value = objective_values[i] if objective_values else loss
            rows.append(
                {
                    "cell_key": info.key,
                    "point": i // repetitions,
                    "row_id": 10 + i // repetitions,
                    "repetition": i % repetitions,
                    "status": status,
                    "reason": "",
                    "x": [1.0, 0.1 * i],
                    "z": None if loss is None else [2.0, 0.1 * i],
                    "candidates": [] if loss is None else [[2.0, 0.1 * i]],
                    "loss": loss,
                    "gower": loss,
                    "l0": None if loss is None else 1,
                    "cost": loss,
                    "objective_value": value,
                    "search_queries": 100 * (i + 1),
                    "robustness_queries": 0,
                    "wall_seconds": 0.5 * (i + 1),
                    "cpu_seconds": 0.25,
                    "anytime": [{"queries": 10, "loss": 1.0}],
                    "figures": [("bound", 0.125)],
                    "model_fingerprint": "f" * 32,
                }
            )
        return CellFinished(info, search_frame(pa.Table.from_pylist(rows, schema=SEARCH_SCHEMA)), measures)

    return make


@pytest.fixture(scope="session")
def put_cell() -> Callable[[Record, CellFinished], None]:
    """Return what writes a finished cell into a record, as a run would."""

    def put(record: Record, event: CellFinished) -> None:
        from cfbench_reporters.search_table import search_table

        assert event.searches is not None
        for row in search_table(event.searches).to_pylist():
            record.append({**row, "figures": dict(row["figures"])})
        record.finish(event.cell, {}, eligible=20)

    return put


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an MLflow store without runs; copy it, since making one takes seconds."""
    from cfbench_reporters.store import open_client, talking_to

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    with talking_to(f"sqlite:///{path}"):
        open_client(f"sqlite:///{path}")
    return path


@pytest.fixture
def store(empty_store: Path, tmp_path: Path) -> Path:
    """Return the file of an MLflow store of the test's own, at its default place in ``tmp_path / "results"``."""
    (tmp_path / "results").mkdir()
    return Path(shutil.copy(empty_store, tmp_path / "results" / "mlflow.db"))
