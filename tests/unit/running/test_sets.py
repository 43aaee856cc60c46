"""Sets of counterfactuals in the record, also where a budget ends the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench import (
    CellContext,
    ComparisonContext,
    CounterfactualSet,
    Found,
    Handles,
    Metric,
    MetricEntry,
    Problem,
    Reference,
    SearcherEntry,
    hookimpl,
)
from cfbench.board.board import leaderboard_of
from cfbench.record.store import Record, load_record
from cfbench.running.second_stage import measure_record
from cfbench.space.space import FloatArray
from cfbench.study.variants import resolve_variant
from tests.toys.runs import Toys


def row(problem: Problem, size: float) -> Any:
    """x with another size; it is of the target class above 10, or 9.5 for the third colour."""
    return np.array([[size, *problem.x[1:]]])


def gather(problem: Problem, rng: np.random.Generator) -> CounterfactualSet:
    """A set of three, reported as it grows; the fourth query finds something closer that is not in it."""
    Z = np.empty((0, 3))
    for size in (12.0, 11.0, 15.0):
        problem.predict(row(problem, size))
        Z = np.vstack([Z, row(problem, size)])
        problem.report_candidates(Z)
    problem.predict(row(problem, 10.5))
    problem.predict(row(problem, 10.25))
    return CounterfactualSet(Z)


def hope(problem: Problem, rng: np.random.Generator) -> CounterfactualSet:
    """Reports a set without a valid row."""
    problem.report_candidates(row(problem, 1.0))
    problem.predict(row(problem, 12.0))
    problem.predict(row(problem, 11.0))
    return CounterfactualSet(row(problem, 12.0))


class Spread(Metric):
    """A third party's metric of sets: the largest distance of two sizes."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return found.spread(np.array([np.ptp(found.sets[row][:, 0]) for row in found.rows]))


class FarFromDice(Metric):
    """A third party's comparison: how far a result is from that of another searcher."""

    reference = Reference(searcher="toy-dice")

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        apart: FloatArray = np.abs(found.z[:, 0] - reference.z[:, 0]) / context.space.ranges[0]
        return apart


class Fails(Metric):
    """A comparison with the board's reference that raises."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        raise KeyError("no such column")


class Misspelt(FarFromDice):
    reference = Reference(searcher="toy-dise")


class Plugin:
    @hookimpl
    def cfbench_register_metrics(self) -> Iterator[MetricEntry]:
        yield MetricEntry(name="fails", metric=Fails, summary="raises")
        yield MetricEntry(name="misspelt", metric=Misspelt, summary="an unknown reference")
        yield MetricEntry(name="spread", metric=Spread, summary="spread of sizes")
        yield MetricEntry(name="far-from-dice", metric=FarFromDice, summary="distance of sizes")

    @hookimpl
    def cfbench_register_searchers(self) -> Iterator[SearcherEntry]:
        handles = [Handles.CATEGORICAL]
        yield SearcherEntry(name="gather", searcher=gather, handles=handles, returns_sets=True)
        yield SearcherEntry(name="hope", searcher=hope, handles=handles, returns_sets=True)
        yield SearcherEntry(name="undeclared", searcher=gather, handles=handles)


def search(tmp_path: Path, name: str, budget: int | None) -> pd.Series[Any]:
    """The row of one search."""
    toys = Toys(tmp_path / "cache", objects=(Plugin(),), searchers=(name,), query_budget=budget)
    toys.run(tmp_path / "r", folds=(0,), points=1, repetitions=1)
    return load_record(tmp_path / "r").iloc[0]


def sizes(found: pd.Series[Any]) -> list[float]:
    return [float(candidate[0]) for candidate in found["candidates"]]


@pytest.mark.parametrize(("budget", "kept", "best"), [(1, [12], 12), (2, [12, 11], 11), (4, [12, 11, 15], 11)])
def test_a_budget_keeps_the_set_that_was_reported_last(
    tmp_path: Path, budget: int, kept: list[float], best: float
) -> None:
    found = search(tmp_path, "gather", budget)
    assert (found["status"], found["search_queries"]) == ("budget_exhausted", budget)
    assert sizes(found) == kept
    assert found["z"][0] == best


def test_a_search_that_ends_by_itself_keeps_what_it_returns(tmp_path: Path) -> None:
    found = search(tmp_path, "gather", None)
    assert found["status"] == "found"
    assert sizes(found) == [12, 11, 15]


def test_a_reported_set_without_a_valid_row_leaves_the_best_row_queried(tmp_path: Path) -> None:
    found = search(tmp_path, "hope", 1)
    assert found["status"] == "budget_exhausted"
    assert sizes(found) == [12]


def test_a_set_that_the_entry_does_not_declare_is_refused(tmp_path: Path) -> None:
    found = search(tmp_path, "undeclared", 2)
    assert found["status"] == "invalid"
    assert found["reason"] == "it called report_candidates, but its entry does not say returns_sets=True"


def test_metrics_of_sets_and_comparisons_stand_on_a_board(tmp_path: Path) -> None:
    toys = Toys(tmp_path / "cache", objects=(Plugin(),), searchers=("toy-both", "toy-dice"), metrics=("set-size",))
    toys.run(tmp_path / "r", folds=(0,), points=2, repetitions=1)
    names = ["set-size", "diversity", "set-coverage", "spread"]
    with Record.open(tmp_path / "r", write=True) as record:
        metrics = [resolve_variant(toys.registry, "metric", name) for name in names]
        assert not measure_record(record, toys.worker(), toys.registry, metrics).failures
        searches = {cell.info.searcher: record.rows(cell.info.key) for cell in record.summaries().values()}
        shown = leaderboard_of(record, toys.registry, reference="toy-dice", columns=[*names, "far-from-dice"])
    board = shown.overall().set_index("searcher")
    # Of x itself and the sizes 20, 11 and 99, two rows are valid: 9 of 20 apart in one of three features.
    measured = board[names].to_dict("index")
    assert measured["toy-both"] == pytest.approx(dict(zip(names, [2, 0.15, 0.5, 9], strict=True)))
    assert measured["toy-dice"] == pytest.approx(dict(zip(names, [1, 0, 1, 0], strict=True)))
    apart = [
        abs(mine["z"][0] - theirs["z"][0]) / 20
        for mine, theirs in zip(searches["toy-both"], searches["toy-dice"], strict=True)
    ]
    assert board.loc["toy-both", "far-from-dice"] == pytest.approx(np.mean(apart))
    assert board.loc["toy-dice", "far-from-dice"] == 0
    assert "far-from-dice" in str(shown)


def test_a_wrong_comparison_is_said_below_the_table(tmp_path: Path) -> None:
    toys = Toys(tmp_path / "cache", objects=(Plugin(),), searchers=("toy-both", "toy-dice"))
    toys.run(tmp_path / "r", folds=(0,), points=1, repetitions=1)
    with Record.open(tmp_path / "r") as record:
        columns = ["fails", "misspelt"]
        shown = leaderboard_of(record, toys.registry, reference="toy-dice", columns=columns)
        text = " ".join(str(replace(shown, all_notes=True)).split())
    assert "metric 'fails' raised KeyError: 'no such column'" in text
    assert "misspelt: unknown searcher 'toy-dise'. " in text
    assert text.count("misspelt: unknown searcher") == 1
