"""The preparation of searches: once per cell and worker, counted apart, bounded, and what goes wrong in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cfbench
from cfbench.board.board import leaderboard_of
from cfbench.record.archive import pack_record
from cfbench.record.cells import CellSummary, Preparation
from cfbench.record.merge import merge_records
from cfbench.record.store import Record
from tests.toys.runs import Toys
from tests.toys.studies import TOY

PREPARING = Path(__file__).parents[2] / "toys" / "preparing_plugin.py"


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    return Toys(tmp_path / "cache", TOY, PREPARING, folds=(0,))


def cell_of(results: Path) -> CellSummary:
    with Record.open(results) as record:
        (found,) = record.summaries().values()
    return found


def failure(toys: Toys, results: Path, how: str, **changes: Any) -> str:
    """Return why the cell fails; none of its searches may be in the record."""
    report = toys.run(results, searchers=(f"prepares[how={how}]",), **changes)
    assert report.cells_failed == 1
    cell = cell_of(results)
    assert cell.searches == 0
    return cell.failure


def test_a_preparation_is_made_once_and_counted_apart(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", searchers=("prepares[how=queries]",))
    cell = cell_of(tmp_path / "r")
    assert (cell.searches, cell.search_queries) == (6, 0)  # 3 points twice
    assert cell.preparation is not None
    assert cell.preparation.queries == 7
    assert cell.preparation.seconds > 0


def test_a_searcher_without_one_has_none(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r")
    assert cell_of(tmp_path / "r").preparation is None


@pytest.mark.slow
def test_its_random_numbers_are_the_same_in_every_worker(toys: Toys, tmp_path: Path) -> None:
    found = []
    for name, executor in (("one", None), ("two", toys.processes())):
        toys.run(tmp_path / name, executor, searchers=("prepares[how=draws]",))
        found.append([z.tolist() for z in cfbench.load_record(tmp_path / name)["z"]])
    assert found[0] == found[1]
    assert len({z[0] for z in found[0]}) == 1


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("returns-a-list", "`prepare` of prepares returned list; it has to return the function that searches"),
        (
            "returns-one-argument",
            "`prepare` of prepares returned something that cannot be called as search(problem, rng)",
        ),
        ("writes", "the preparation of prepares raised ValueError: assignment destination is read-only"),
        ("raises", "the preparation of prepares raised KeyError: 'no graph' (preparing_plugin.py:"),
        ("peeks", "did not declare that it uses the fitted model; add Need.MODEL to its entry"),
    ],
)
def test_a_failed_preparation_fails_the_cell_with_its_reason(toys: Toys, tmp_path: Path, how: str, reason: str) -> None:
    assert reason in failure(toys, tmp_path / "r", how)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "reason", "changes"),
    [
        ("exits", "the preparation of prepares[how=exits] failed: its process ended with exit code 3", {}),
        (
            "sleeps",
            "the preparation of prepares[how=sleeps] was killed after its limit of 1 s; `prepare_time_limit` in the",
            {"prepare_time_limit": 1.0},
        ),
    ],
)
def test_a_preparation_that_costs_the_process_costs_its_cell_alone(
    toys: Toys, tmp_path: Path, how: str, reason: str, changes: dict[str, Any]
) -> None:
    searchers = (f"prepares[how={how}]", "prepares", "toy-dice")
    report = toys.run(tmp_path / "r", toys.processes(), searchers=searchers, workers=2, **changes)
    assert (report.cells_done, report.cells_failed) == (2, 1)
    with Record.open(tmp_path / "r") as record:
        failures = {cell.info.searcher: cell.failure for cell in record.summaries().values() if cell.failure}
    assert list(failures) == [f"prepares[how={how}]"]
    assert reason in failures[f"prepares[how={how}]"]


def test_a_context_is_closed_when_the_search_begins(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", searchers=("prepares[how=queries-later]",))
    reasons = set(cfbench.load_record(tmp_path / "r")["reason"])
    assert all("the preparation is over: in a search, query the model through the problem" in one for one in reasons)
    assert cell_of(tmp_path / "r").search_queries == 0


def test_a_budget_bounds_it_if_the_study_says_so(toys: Toys, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    toys.run(one, searchers=("prepares[how=queries-until-the-end]",), prepare_budget=5)
    assert cell_of(one).preparation is not None
    assert cell_of(one).preparation.queries == 5  # type: ignore[union-attr]
    reason = failure(toys, other, "queries", prepare_budget=5)
    assert "the preparation of prepares exceeds `prepare_budget`: 7 more would exceed the query budget of 5" in reason


def test_a_budget_is_in_the_key_of_searchers_that_prepare_and_in_no_other(toys: Toys, tmp_path: Path) -> None:
    def keys(**changes: Any) -> list[str]:
        plan = toys.plan(tmp_path, searchers=("toy-dice", "prepares"), **changes)
        return [cell.info.key for cell in plan.cells]

    dice, prepares = keys()
    assert keys(prepare_budget=5)[0] == dice
    assert keys(prepare_budget=5)[1] != prepares
    assert keys(prepare_time_limit=5.0) == [dice, prepares]


def test_it_is_packed_merged_and_shown(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", searchers=("prepares[how=queries]", "toy-dice"))
    with Record.open(tmp_path / "r") as record:
        took = record.preparations()
        pack_record(record, tmp_path / "packed")
    assert [one.queries for one in took.values()] == [7]
    merge_records([tmp_path / "packed"], tmp_path / "merged")
    with Record.open(tmp_path / "merged") as record:
        assert record.preparations() == took
        board = leaderboard_of(record, toys.registry)
    frame = board.overall().set_index("searcher")
    assert frame["prepare_queries"].dropna().to_dict() == {"prepares[how=queries]": 7.0}


def test_a_record_without_the_table_can_be_read_and_grows(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r")
    with Record.open(tmp_path / "r", write=True) as record, record.transaction() as connection:
        connection.execute("DROP TABLE preparations")
    assert cell_of(tmp_path / "r").preparation is None
    toys.run(tmp_path / "r", searchers=("toy-dice", "prepares[how=queries]"))
    with Record.open(tmp_path / "r") as record:
        assert [one.queries for one in record.preparations().values()] == [7]


def test_what_an_earlier_preparation_took_stays(tmp_path: Path) -> None:
    with Record.open(tmp_path / "r", write=True) as record:
        record.note_preparation("0" * 32, Preparation(1.5, 7))
        record.note_preparation("0" * 32, Preparation(0.1, 9))
        assert record.preparations() == {"0" * 32: Preparation(1.5, 7)}


def test_face_finds_the_end_of_the_shortest_way(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", searchers=("face",), repetitions=1)
    searches = cfbench.load_record(tmp_path / "r")
    assert set(searches["status"]) == {"found"}
    assert set(searches["search_queries"]) == {0}
    preparation = cell_of(tmp_path / "r").preparation
    assert preparation is not None
    assert preparation.queries == 48  # the training rows of one of five folds
    rows = toys.worker().dataset(toys.plan(tmp_path).cells[0]).X.tolist()
    assert all(z.tolist() in rows for z in searches["z"])


def test_explain_prepares(toys: Toys) -> None:
    def income(Z: np.ndarray) -> np.ndarray:
        return (Z[:, 0] > 50).astype(int)

    explanation = cfbench.explain(
        [20],
        model=income,
        space=cfbench.FeatureSpace((cfbench.FeatureSpec("income", cfbench.Kind.NUMERICAL, 0, 100),)),
        target=1,
        searcher="nearest-unlike",
        training=(np.array([[10.0], [60.0], [90.0]]), np.array([0, 1, 1])),
    )
    assert (explanation.queries, explanation.prepare_queries) == (1, 3)
    assert explanation.prepare_seconds > 0
    assert "1 queries" in str(explanation)
    assert "and 3 queries" in str(explanation)
    assert explanation.content()["prepare_queries"] == 3
