"""Records that somebody has made up, checksums and digests included: `cfbench verify` names each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cfbench
from cfbench.cli import cli
from cfbench.record.cell_line import mark_of
from cfbench.record.lines import encode_line, scan
from cfbench.record.record import Record
from cfbench.record.rows import Row
from cfbench.record.tables import encode_cell

TOY = Path(__file__).parents[2] / "toys" / "toy_plugin.py"
STUDY: dict[str, Any] = {
    "name": "toys",
    "datasets": ["toy"],
    "models": ["threshold"],
    "searchers": ["toy-dice"],
    "metrics": ["success"],
    "folds": [0],
    "points": 3,
    "repetitions": 2,
    "tracking": "none",
}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "results"
    cfbench.run(STUDY, plugins=[TOY], results=path)
    return path


def verify(path: Path, *, sample: int = 0) -> Result:
    return CliRunner().invoke(cli, ["verify", str(path), "--plugin", str(TOY), "--sample", str(sample)])


def write_table(results: Path, edit: Callable[[list[Row]], None]) -> None:
    """Replace the only cell's table by one of edited rows, whole, and have the index know it."""
    (table,) = results.glob("cells/*/*.parquet")
    with Record.open(results) as record:
        rows = record.rows(table.stem)
        stored = record.held(table.stem).stored
    assert stored is not None
    edit(rows)
    table.write_bytes(encode_cell(stored.info, stored.content, stored.eligible, rows))
    forge_index(results / "index.log", mark=mark_of(table.read_bytes()))


def forge_index(index: Path, **changes: Any) -> None:
    line = json.loads(scan(index.read_bytes()).lines[-1].payload)
    index.write_bytes(encode_line(json.dumps(line | changes, separators=(",", ":")).encode()))


def change_second(**changes: Any) -> Callable[[list[Row]], None]:
    return lambda rows: rows[1].update(changes)


def change_all(**changes: Callable[[Row], Any]) -> Callable[[list[Row]], None]:
    def edit(rows: list[Row]) -> None:
        for row in rows:
            row |= {name: change(row) for name, change in changes.items()}

    return edit


def test_measures_that_are_gone_are_told(results: Path) -> None:
    (table,) = results.glob("measures/*/*.parquet")
    table.unlink()
    done = verify(results)
    assert done.exit_code == 1
    assert f"{table.name} is gone; `cfbench measure` writes it anew" in done.output
    board = CliRunner().invoke(cli, ["leaderboard", "--results", str(results), "--plugin", str(TOY)])
    assert f"{table.name} is gone" in board.output


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (change_second(z=[]), "point 0, repetition 1: column 'z' of a search's row holds a vector of 0 numbers"),
        (change_second(z=[1.0]), "point 0, repetition 1: column 'z' of a search's row holds a vector of 1 numbers"),
        (change_second(x=[1.0]), "point 0, repetition 1: column 'z' of a search's row holds a vector of 3 numbers"),
        (change_second(candidates=[[1.0]]), "column 'candidates' of a search's row holds a vector of 1 numbers"),
        (change_second(status="bogus"), "point 0, repetition 1: column 'status' of a search's row cannot hold 'bogus'"),
        (change_second(wall_seconds=-1.0), "point 0, repetition 1: column 'wall_seconds'"),
        (change_second(cpu_seconds=float("nan")), "point 0, repetition 1: column 'cpu_seconds'"),
        (change_second(search_queries=-1), "point 0, repetition 1: column 'search_queries'"),
        (lambda rows: rows.append(rows[0]), "point 0, repetition 0: it is there twice"),
    ],
)
def test_rows_that_no_search_gives(results: Path, edit: Callable[[list[Row]], None], fault: str) -> None:
    write_table(results, edit)
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
    write_table(results, change_second(**changes))
    result = verify(results)
    assert result.exit_code == 1
    assert fault in result.stderr


def test_the_best_of_many_seeds_leaves_gaps(results: Path) -> None:
    write_table(results, change_all(repetition=lambda row: 17 * row["repetition"]))
    result = verify(results)
    assert result.exit_code == 1
    assert "Not verified: 6 searches: toy-dice on toy" in result.stderr
    assert "of point 0 it has repetition 17, and lacks one before it: run its study to the end" in result.stderr


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"loss": [0.0, 0.0, 0.0]}, "fold 0: index.log has another loss than its table"),
        ({"seconds": [0.0, 0.0, 0.0]}, "fold 0: index.log has another seconds than its table"),
        ({"fingerprints": ["0" * 32]}, "fold 0: index.log has another fingerprints than its table"),
        ({"searches": 5}, "the index's line of cell"),
    ],
)
def test_an_index_that_leads_the_board_with_other_numbers(results: Path, changes: dict[str, Any], fault: str) -> None:
    assert verify(results).exit_code == 0
    forge_index(results / "index.log", **changes)
    result = verify(results)
    assert result.exit_code == 1
    assert fault in result.stderr


def test_an_index_of_measures_with_other_values(results: Path) -> None:
    forge_index(results / "measured.log", values=["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])
    result = verify(results)
    assert result.exit_code == 1
    assert "fold 0: measured.log has another success than its measures" in result.stderr


@pytest.mark.parametrize("values", [[0.5] * 6, [1.0] * 5 + [float("nan")], [1.0] * 5])
def test_metrics_with_other_values(results: Path, values: list[float]) -> None:
    honest = verify(results, sample=1)
    assert honest.exit_code == 0
    assert "1 searches run again, 1 cell measured again" in honest.stdout
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


def test_models_of_no_machine_are_not_verified(results: Path) -> None:
    write_table(results, change_all(loss=lambda _: 1e-6, model_fingerprint=lambda _: "f" * 32))
    Path(results / "index.log").unlink()
    result = verify(results)
    assert result.exit_code == 1
    assert "Not verified: 6 searches: threshold on toy, fold 0, is fitted differently here; " in result.stderr


def test_nothing_is_not_verified(tmp_path: Path) -> None:
    Record.open(tmp_path / "results", write=True).close()
    result = verify(tmp_path / "results")
    assert result.exit_code == 1
    assert "Not verified: " in result.stderr
    assert "holds no finished search" in result.stderr
