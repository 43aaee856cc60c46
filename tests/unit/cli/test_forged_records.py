"""Records that somebody has made up, checksums and digests included: `cfbench verify` names each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cfbench
from cfbench.cli import cli
from cfbench.record.cells import CELLS, stored_cell, summarise
from cfbench.record.schema import SEARCHES, Row, digest_of_values
from cfbench.record.store import Record
from tests.databases import execute, forge
from tests.toys.studies import STUDY, TOY


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "results"
    cfbench.run(STUDY, plugins=[TOY], points=3, repetitions=2, results=path)
    return path


def verify(path: Path, *, sample: int = 0) -> Result:
    return CliRunner().invoke(cli, ["verify", str(path), "--plugin", str(TOY), "--sample", str(sample)])


def write_rows(results: Path, edit: Callable[[list[Row]], None]) -> None:
    """Replace the only cell's searches by edited ones, with their digests, and have its summary say the same."""
    with Record.open(results) as record:
        (key,) = record.summaries()
        cell, rows = record.cell_of(key).cell, record.rows(key)
    assert cell is not None
    edit(rows)
    made = summarise(cell.info, cell.content, cell.eligible, rows)
    execute(results, "DELETE FROM searches")
    for row in rows:
        execute(results, SEARCHES.insert, *SEARCHES.stored(row))
    execute(results, CELLS.insert, *stored_cell(made))


def change_second(**changes: Any) -> Callable[[list[Row]], None]:
    return lambda rows: rows[1].update(changes)


def change_all(**changes: Callable[[Row], Any]) -> Callable[[list[Row]], None]:
    def edit(rows: list[Row]) -> None:
        for row in rows:
            row |= {name: change(row) for name, change in changes.items()}

    return edit


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"z": b""}, "point 0, repetition 1: it is damaged (column 'z' of a search's row holds a vector of 0 numbers"),
        ({"z": [1.0]}, "column 'z' of a search's row holds a vector of 1 numbers"),
        ({"x": [1.0]}, "column 'z' of a search's row holds a vector of 3 numbers"),
        ({"candidates": [[1.0]]}, "column 'candidates' of a search's row holds a vector of 1 numbers"),
        (
            {"status": "bogus"},
            "point 0, repetition 1: it is damaged (column 'status'",
        ),
        ({"wall_seconds": -2.0}, "(column 'wall_seconds'"),
        ({"search_queries": -2}, "(column 'search_queries'"),
        ({"wall_seconds": -1.0}, "its summary has another wall_seconds"),  # -1 stands for unknown
        ({"search_queries": -1}, "its summary has another search_queries"),
        ({"figures": "[" * 100_000}, "(column 'figures'"),
    ],
)
def test_rows_that_no_search_gives(results: Path, changes: dict[str, Any], fault: str) -> None:
    kinds = SEARCHES.fields
    stored = {name: value for name, value in changes.items() if isinstance(value, str) and kinds[name].store}
    forge(results, "searches", "point = 0 AND repetition = 1", **{k: v for k, v in changes.items() if k not in stored})
    for name, value in stored.items():  # JSON text as it is
        (values,) = execute(results, SEARCHES.select("point = 0 AND repetition = 1"))
        new = tuple(value if column == name else old for column, old in zip(SEARCHES.columns, values, strict=False))
        execute(results, SEARCHES.insert, *new, digest_of_values(new))
    result = verify(results)
    assert result.exit_code == 1
    assert "Wrong: " in result.stderr
    assert fault in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"z": [float("nan"), 40.0, 0.0]}, "z is no counterfactual: size = nan"),
        ({"z": [1e308, 40.0, 0.0]}, "z is no counterfactual: size = "),
        ({"candidates": [[1.0, 2.0, 0.0]]}, "z is not the best of its candidates"),
        ({"candidates": []}, "z is not the best of its candidates"),
        (
            {"status": "timed_out", "z": None, "loss": None, "wall_seconds": 2.5},
            "it is called timed_out after 2.5 s, and its limit is none",
        ),
        ({"point": 2**62}, "is not that eligible point"),
        ({"row_id": 2**62}, "is not that eligible point"),
    ],
)
def test_rows_that_cannot_be_true(results: Path, changes: dict[str, Any], fault: str) -> None:
    write_rows(results, change_second(**changes))
    result = verify(results)
    assert result.exit_code == 1
    assert fault in result.stderr


def test_the_best_of_many_seeds_leaves_gaps(results: Path) -> None:
    write_rows(results, change_all(repetition=lambda row: 17 * row["repetition"]))
    result = verify(results)
    assert result.exit_code == 1
    assert "Not verified: 6 searches: toy-dice on toy" in result.stderr
    assert "of point 0 it has repetition 17, and lacks one before it: run its study to the end" in result.stderr


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"loss": [0.0, 0.0, 0.0]}, "fold 0: its summary has another loss than its searches"),
        ({"seconds": [0.0, 0.0, 0.0]}, "fold 0: its summary has another seconds than its searches"),
        ({"fingerprints": ["0" * 32]}, "fold 0: its summary has another fingerprints than its searches"),
        ({"mark": "0" * 32}, "fold 0: its summary has another mark than its searches"),
        ({"searches": 5}, "is damaged (its counts of searches differ)"),
    ],
)
def test_a_summary_that_leads_the_board_with_other_numbers(results: Path, changes: dict[str, Any], fault: str) -> None:
    assert verify(results).exit_code == 0
    forge(results, "cells", **changes)
    result = verify(results)
    assert result.exit_code == 1
    assert fault in result.stderr


@pytest.mark.parametrize("values", [[0.5] * 6, [1.0] * 5 + [float("nan")]])
def test_metrics_with_other_values(results: Path, values: list[float]) -> None:
    honest = verify(results, sample=1)
    assert honest.exit_code == 0
    assert "1 search run again, 1 cell measured again" in honest.stdout
    with Record.open(results, write=True) as record:
        (key,) = record.summaries()
        frame = record.measures(key)
        record.write_measures(key, frame[: len(values)].assign(value=values))
    assert verify(results).exit_code == 0
    result = verify(results, sample=1)
    assert result.exit_code == 1
    assert "fold 0: measured again, it gives other values of success" in result.stderr


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"searcher": "cogs"}, "it says to be another cell than the one that was run"),
        ({"searcher": "toy-dice[rolls=9]"}, "it is called toy-dice[rolls=9], and its settings are those of toy-dice"),
        ({"white_box": True}, "whether its searcher looks into the model is told wrong"),
        ({"versions": {"searcher": "7"}}, "it says to be of other versions than the one that was run"),
    ],
)
def test_coordinates_of_another_cell(results: Path, changes: dict[str, Any], fault: str) -> None:
    with Record.open(results, write=True) as record:
        ((key, summary),) = record.summaries().items()
        record.adopt(replace(summary.info, **changes), summary.content, summary.eligible, record.rows(key))
    result = verify(results)
    assert result.exit_code == 1
    assert fault in result.stderr


def test_a_cell_that_does_not_say_what_was_run(results: Path) -> None:
    with Record.open(results, write=True) as record:
        ((key, summary),) = record.summaries().items()
        content = {name: value for name, value in summary.content.items() if name != "searcher"}
        record.adopt(summary.info, content, summary.eligible, record.rows(key))
    result = verify(results)
    assert result.exit_code == 1
    assert "it does not say what was run" in result.stderr


def test_nothing_is_not_verified(tmp_path: Path) -> None:
    Record.open(tmp_path / "results", write=True).close()
    result = verify(tmp_path / "results")
    assert result.exit_code == 1
    assert "Not verified: " in result.stderr
    assert "holds no finished search" in result.stderr
