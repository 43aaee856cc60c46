"""The second stage: metrics that behave and metrics that do not, on a cell and on a whole record."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from cfbench.contracts import DataSource
from cfbench.entries import MetricEntry
from cfbench.harness.fitted import FittedModels
from cfbench.harness.measure import measure_cell
from cfbench.harness.second_stage import Grounds, SecondStage, Tally, measure_record
from cfbench.harness.store.record import Record
from cfbench.harness.store.schema import MEASURE_SCHEMA
from cfbench.harness.variants import Variant, resolve_variant
from cfbench.hookspecs import hookimpl
from cfbench.metric_contracts import CellContext, ComparisonMetric, CounterfactualMetric, ObjectiveComparison
from cfbench.registry import Registry, RegistryOptions, build_registry

if TYPE_CHECKING:
    from tests.unit.harness.conftest import Toys

TOY = Path(__file__).parents[2] / "toys" / "toy_plugin.py"


class Rows(CounterfactualMetric):
    """Rows asked, times a setting."""

    times: float = 1.0

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        found: pd.Series[float] = searches["search_queries"] * self.times
        return found.where(searches["repetition"] == 0)


class AsksModel(CounterfactualMetric):
    """The class of x, by the cell's own model."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        return pd.Series(context.model().predict(np.vstack(list(searches["x"]))).astype(float), index=searches.index)


class Noisy(CounterfactualMetric):
    """Draws from the global generators, and writes into what it was given."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        searches["status"] = "mine"
        return pd.Series(random.random() + np.random.rand(len(searches)), index=searches.index)  # noqa: NPY002 - as plugins do


class Raises(CounterfactualMetric):
    """Fails."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        raise KeyError("no such column")


class Wrong(CounterfactualMetric):
    """Returns what it must not."""

    how: str = "infinite"

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        ones = pd.Series(1.0, index=searches.index)
        answers: dict[str, object] = {
            "infinite": ones / 0.0,
            "short": ones.iloc[1:],
            "shuffled": ones.iloc[::-1],
            "reindexed": ones.reset_index(drop=True),
            "words": ones.map(lambda _: "much"),
            "list": [1.0] * len(ones),
            "nothing": None,
        }
        return answers[self.how]  # type: ignore[return-value] # that is the mistake


class Beside(ComparisonMetric):
    """Compares."""


class BesideNone(ObjectiveComparison):
    """Compares objectives, by a number about each cell."""

    times: float = 1.0

    def measures(self) -> tuple[str, ...]:
        return (f"rows[times={self.times}]", "rows")


class Metrics:
    """The plugin that registers them."""

    version = "1"

    @hookimpl
    def cfbench_register_metrics(self) -> list[MetricEntry]:
        found = {
            "rows": Rows,
            "asks-model": AsksModel,
            "noisy": Noisy,
            "raises": Raises,
            "wrong": Wrong,
            "beside": Beside,
            "beside-none": BesideNone,
        }
        return [MetricEntry(name=name, metric=metric, version=self.version) for name, metric in found.items()]  # type: ignore[arg-type, unused-ignore] # one dict of both stages


class NextMetrics(Metrics):
    """A later release."""

    version = "2"


@pytest.fixture
def registry() -> Registry:
    return build_registry(RegistryOptions(plugins=(str(TOY),)), objects=[Metrics()])


def variants(registry: Registry, *texts: str) -> list[Variant]:
    return [resolve_variant(registry, "metric", text) for text in texts]


# ---------------------------------------------------------------- one cell


@pytest.fixture
def searches() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cell_key": "c" * 32,
            "point": [0, 0, 1, 1],
            "repetition": [0, 1, 0, 1],
            "status": "found",
            "search_queries": [10, 20, 30, 40],
        },
        index=[7, 5, 3, 1],
    )


@pytest.fixture
def context(registry: Registry, tmp_path: Path) -> CellContext:
    dataset = registry.dataset("toy").entry.load(DataSource((), tmp_path, download=False))
    nothing = np.array([], dtype=np.int64)

    def no_model() -> None:
        raise AssertionError("no metric of these tests asks for the model")

    return CellContext(dataset, nothing, nothing, False, no_model, 42)  # type: ignore[arg-type] # never asked


def test_a_cell_is_measured_by_search(registry: Registry, searches: pd.DataFrame, context: CellContext) -> None:
    measured = measure_cell(searches, context, registry, variants(registry, "rows", "rows[times=0.5]"))
    assert measured.complaints == ()
    assert list(measured.table.columns) == MEASURE_SCHEMA.names
    assert measured.table["metric"].unique().tolist() == ["rows", "rows[times=0.5]"]
    assert measured.table["settings"].unique().tolist() == ['{"times":1.0}', '{"times":0.5}']
    first = measured.table[measured.table["metric"] == "rows[times=0.5]"]
    assert first["point"].tolist() == [0, 0, 1, 1]
    assert first["value"].tolist() == pytest.approx([5.0, np.nan, 15.0, np.nan], nan_ok=True)


def test_a_metric_that_raises_fails_alone(registry: Registry, searches: pd.DataFrame, context: CellContext) -> None:
    measured = measure_cell(searches, context, registry, variants(registry, "raises", "rows"))
    assert measured.table["metric"].unique().tolist() == ["rows"]
    assert measured.complaints == ("metric 'raises' raised KeyError: 'no such column'",)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("infinite", "returned inf for row 7; an infinity cannot be averaged or stored"),
        ("short", "returned 3 values for 4 rows"),
        ("shuffled", "another index"),
        ("reindexed", "another index"),
        ("words", "not numbers"),
        ("list", "returned a list; it must return a pandas Series"),
        ("nothing", "returned a NoneType"),
    ],
)
def test_a_wrong_answer_is_refused_and_named(
    registry: Registry, searches: pd.DataFrame, context: CellContext, how: str, message: str
) -> None:
    label = "wrong" if how == "infinite" else f"wrong[how={how}]"
    measured = measure_cell(searches, context, registry, variants(registry, label))
    assert measured.table.empty
    assert list(measured.table.columns) == MEASURE_SCHEMA.names
    (complaint,) = measured.complaints
    assert complaint.startswith(f"metric {label!r} ")
    assert message in complaint


def states() -> bytes:
    """The global generators of Python and numpy."""
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 - those that plugins use


def test_a_metric_cannot_disturb_anything(registry: Registry, searches: pd.DataFrame, context: CellContext) -> None:
    random.seed(3)
    before = states()
    first = measure_cell(searches, context, registry, variants(registry, "noisy"))
    assert states() == before
    assert searches["status"].unique().tolist() == ["found"]
    random.seed(4)
    again = measure_cell(searches, context, registry, variants(registry, "noisy"))
    pd.testing.assert_frame_equal(first.table, again.table)


def test_metrics_that_compare_cells_are_passed_over(
    registry: Registry, searches: pd.DataFrame, context: CellContext
) -> None:
    measured = measure_cell(searches, context, registry, variants(registry, "beside"))
    assert measured.table.empty
    assert measured.complaints == ()


def test_what_a_comparison_of_objectives_needs_is_measured(
    registry: Registry, searches: pd.DataFrame, context: CellContext
) -> None:
    asked = variants(registry, "beside-none[times=0.5]", "rows", "beside-none")
    measured = measure_cell(searches, context, registry, asked)
    assert measured.table["metric"].unique().tolist() == ["rows[times=0.5]", "rows"]
    assert len(measured.table) == 8  # each once, whoever asks


# ---------------------------------------------------------------- a record


def second_stage(toys: Toys, results: Path, registry: Registry, *texts: str) -> SecondStage:
    with Record.open(results, write=True) as record:
        models = FittedModels(toys.setup.cache_dir)
        return measure_record(record, registry, toys.source, models, variants(registry, *texts))


def test_an_old_record_gets_a_metric_without_any_search(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    stage = second_stage(toys, results, registry, "rows", "asks-model")
    rows, classes = stage.tallies
    assert (stage.cells, stage.left_out, stage.failures) == (2, 0, {})
    # two folds of three points with two repetitions; `rows` has no value for the second repetition
    assert (rows.cells, rows.added, rows.counted, rows.searches) == (2, 2, 6, 12)
    assert (classes.cells, classes.added, classes.counted, classes.searches) == (2, 2, 12, 12)
    assert (rows.mean, classes.mean, Tally(rows.metric).mean) == (200.0, 0.0, None)
    with Record.open(results) as record:
        for key in record.summaries():
            table = record.measures(key)
            assert set(table.loc[table["metric"] == "asks-model", "value"]) == {0.0}  # eligible: not of class 1
            assert set(table.loc[table["metric"] == "rows", "value"].dropna()) == {200.0}


def test_only_what_is_missing_is_computed(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    second_stage(toys, results, registry, "rows")
    again = second_stage(toys, results, registry, "rows", "rows[times=2]")
    assert [(tally.cells, tally.added) for tally in again.tallies] == [(2, 0), (2, 2)]
    newer = build_registry(RegistryOptions(plugins=(str(TOY),)), objects=[NextMetrics()])
    assert [tally.added for tally in second_stage(toys, results, newer, "rows").tallies] == [2]


def test_a_cell_that_has_grown_is_measured_again(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results, folds=(0,))
    second_stage(toys, results, registry, "rows")
    toys.run(results, folds=(0,), points=4)
    (tally,) = second_stage(toys, results, registry, "rows").tallies
    assert (tally.added, tally.counted, tally.searches) == (1, 4, 8)


def test_a_failing_metric_costs_only_itself_and_is_tried_again(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    stage = second_stage(toys, results, registry, "raises", "rows")
    assert [tally.cells for tally in stage.tallies] == [0, 2]
    assert stage.failures == {"metric 'raises' raised KeyError: 'no such column'": 2}


def test_another_model_than_the_searches_asked_is_refused(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results, folds=(0,))
    with Record.open(results) as record:
        (cell,) = record.summaries().values()
    object.__setattr__(cell, "fingerprints", ("0123",))
    grounds = Grounds(registry, toys.source, FittedModels(toys.setup.cache_dir))
    context = grounds.context(cell)
    measured = measure_cell(
        pd.DataFrame({"cell_key": "c" * 32, "point": [0], "repetition": [0], "x": [np.zeros(3)]}),
        context,
        registry,
        variants(registry, "asks-model"),
    )
    (complaint,) = measured.complaints
    assert "model threshold on toy, fold 0, has fingerprint" in complaint
    assert "the searches asked one with 0123" in complaint


def test_another_table_than_the_searches_saw_is_refused(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results, folds=(0,))
    changed = tmp_path / "changed.py"
    changed.write_text(TOY.read_text("utf-8").replace("default_rng(5)", "default_rng(6)"), "utf-8")
    other = build_registry(RegistryOptions(plugins=(str(changed),)), objects=[Metrics()])
    stage = second_stage(toys, results, other, "rows")
    (reason,) = stage.failures
    assert "data set 'toy' has digest" in reason
    assert stage.tallies[0].cells == 0


def test_a_cell_with_unfinished_searches_is_left_to_its_study(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    with Record.open(results, write=True) as record:
        key = next(iter(record.summaries()))
        row = json.loads(
            record.searches(key).iloc[:1].drop(columns=["x", "z", "candidates"]).to_json(orient="records")
        )[0]
        row |= {"point": 3, "x": [1.0, 20.0, 0.0], "z": None, "candidates": [], "l0": None, "loss": None}
        row |= {"status": "not_found", "gower": None, "cost": None, "objective_value": None}
        record.append(row)
    stage = second_stage(toys, results, registry, "rows")
    assert (stage.cells, stage.left_out) == (1, 1)
