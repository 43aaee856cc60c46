"""Cells under robustness objectives beside their like under `none`, in a record made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench.analysis.references import COORDINATES, Comparisons, PointResults, compare_cells
from cfbench.digests import digest_of
from cfbench.errors import StudyError, UnavailableError
from cfbench.record.store import Record
from cfbench.registry.entries import MetricEntry
from cfbench.registry.events import CellInfo
from cfbench.registry.hookspecs import hookimpl
from cfbench.registry.metrics import ComparisonContext, Found, Metric, Reference
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, Kind
from cfbench.study.variants import resolve_variant

SPACE = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 10), FeatureSpec("age", Kind.NUMERICAL, 0, 10)))
X = [2.0, 5.0]
Result = tuple[int, int, float | None, float | None]
"""Row id, repetition, loss, objective value."""


class Infinite(Metric):
    reference = Reference(objective="none")

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        return found.loss * np.inf


class Ranges(Infinite):
    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        values: FloatArray = found.loss * context.space.ranges[0]
        return values


class Extra:
    @hookimpl
    def cfbench_register_metrics(self) -> list[MetricEntry]:
        return [MetricEntry(name="infinite", metric=Infinite), MetricEntry(name="ranges", metric=Ranges)]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return build_registry(RegistryOptions(), objects=[Extra()])


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    with Record.open(tmp_path / "results", write=True) as opened:
        yield opened


def put(
    record: Record,
    results: Sequence[Result],
    *,
    objective: str = "none",
    actual: Mapping[tuple[int, int], float] | None = None,
    seed: int = 42,
    digest: str = "",
    **coordinates: Any,
) -> str:
    """Finish a cell; `actual`: the metric actual-cost by (point, repetition)."""
    place = {"dataset": "tiny", "model": "m", "searcher": "s", "constraints": True, "fold": 0, **coordinates}
    entries = {kind: {"name": place[kind]} for kind in ("dataset", "model", "searcher")}
    entries["dataset"] |= {"digest": digest} if digest else {}
    target = {"name": objective.partition("[")[0], "settings": {"label": objective}}
    content = {**place, **entries, "objective": target, "seed": seed}
    key = digest_of(content)
    ids = list(dict.fromkeys(row_id for row_id, *_ in results))
    for row_id, repetition, loss, value in results:
        record.append(
            {
                "cell_key": key,
                "point": ids.index(row_id),
                "row_id": row_id,
                "repetition": repetition,
                "status": "not_found" if loss is None else "found",
                "reason": "",
                "x": X,
                "z": None if loss is None else [2.0 + 10 * loss, 5.0],
                "candidates": [],
                **dict.fromkeys(("loss", "gower", "cost"), loss),
                "l0": None if loss is None else 1,
                "objective_value": value,
                "search_queries": 10,
                "robustness_queries": 5,
                "wall_seconds": 1.0 + repetition,
                "cpu_seconds": 1.0,
                "anytime": [],
                "figures": {},
                "model_fingerprint": "f",
            }
        )
    record.finish(CellInfo(key=key, objective=objective, **place), content, eligible=len(ids))
    if actual is not None:
        settings = {"part": "k", "distribution": "uniform", "draws": 100}
        settings |= {"over": "all", "l0": False, "setbacks": "normalised"}
        table = pd.DataFrame(
            [
                {
                    "cell_key": key,
                    "metric": "actual-cost",
                    "version": "2",
                    "settings": json.dumps(settings, sort_keys=True, separators=(",", ":")),
                    "point": point,
                    "repetition": repetition,
                    "value": value,
                }
                for (point, repetition), value in actual.items()
            ]
        )
        record.write_measures(key, table)
    return key


def dataset(name: str) -> Dataset:
    if name != "tiny":
        raise UnavailableError("no such file")
    return Dataset("tiny", np.array([X]), np.array([0]), SPACE, target=1, class_labels=("no", "yes"))


def compared(record: Record, registry: Registry, *metrics: str) -> Comparisons:
    variants = [resolve_variant(registry, "metric", text) for text in metrics]
    return compare_cells(record, registry, variants, results=PointResults(record, registry, dataset=dataset))


def values(found: Comparisons, metric: str, objective: str) -> dict[int, float]:
    table = found.table
    mine = table[(table["metric"] == metric) & (table["objective"] == objective)]
    return dict(zip(mine["row_id"], mine["value"], strict=True))


def test_points_are_matched_by_their_best_repetitions(record: Record, registry: Registry) -> None:
    # Under k the repetition with the smaller objective value counts, whatever its loss.
    put(record, [(7, 0, 0.2, 0.2), (7, 1, 0.3, 0.3), (8, 0, 0.1, 0.1), (9, 0, None, None)])
    put(record, [(9, 0, 0.5, 0.5), (8, 0, 0.4, 0.4), (7, 0, 0.5, 0.9), (7, 1, 0.6, 0.6)], objective="k[m=4]")
    found = compared(record, registry, "cost-of-robustness", "time-of-robustness")
    assert values(found, "cost-of-robustness", "k[m=4]") == pytest.approx({7: 3.0, 8: 4.0, 9: np.nan}, nan_ok=True)
    assert values(found, "time-of-robustness", "k[m=4]") == pytest.approx({7: 1.0, 8: 0.0, 9: np.nan}, nan_ok=True)
    assert values(found, "cost-of-robustness", "none") == pytest.approx({7: 1.0, 8: 1.0, 9: np.nan}, nan_ok=True)
    assert found.complaints == {}
    assert list(found.table.columns) == ["cell_key", *COORDINATES, "row_id", "metric", "value"]


def test_only_cells_that_differ_in_the_objective_alone_are_alike(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2)])
    for other in ({"seed": 43}, {"fold": 1}, {"constraints": False}, {"searcher": "t"}, {"model": "n"}):
        put(record, [(7, 0, 0.4, 0.4)], objective="c", **other)
    found = compared(record, registry, "cost-of-robustness")
    assert set(found.table["objective"]) == {"none"}
    assert sum(found.complaints.values()) == 5
    assert "there is no cell under objective none to compare t on tiny with m (constraints on) with" in str(
        found.complaints
    )


def test_relative_cost_needs_the_actual_cost(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2), (8, 0, 0.1, 0.1)], actual={(0, 0): 0.3, (1, 0): np.nan})
    put(record, [(7, 0, 0.4, 0.4), (7, 1, 0.3, 0.3)], objective="c", actual={(0, 0): 0.9, (0, 1): 0.5})
    put(record, [(7, 0, 0.4, 0.4)], objective="k")
    found = compared(record, registry, "relative-cost")
    assert values(found, "relative-cost", "none") == pytest.approx({7: 1.5, 8: np.nan}, nan_ok=True)
    assert values(found, "relative-cost", "c") == pytest.approx({7: 2.5})
    assert np.isnan(values(found, "relative-cost", "k")[7])
    complaint, share = sorted(found.complaints)
    assert complaint.startswith("not measured: actual-cost[part=k,")
    assert share.startswith("not measured: unfixable[part=k,")
    assert "`cfbench measure --metric 'actual-cost[" in complaint


def test_accidental_robustness_sees_the_vectors(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2), (8, 0, 0.2, 0.2)])
    put(record, [(7, 0, 0.24, 0.24), (8, 0, 0.4, 0.4)], objective="c")
    found = compared(record, registry, "accidental-robustness", "accidental-robustness[tolerance=0.01]")
    assert values(found, "accidental-robustness", "c") == {7: 1.0, 8: 0.0}  # 4.4 beside 4, 6 beside 4, of 10
    assert values(found, "accidental-robustness[tolerance=0.01]", "c") == {7: 0.0, 8: 0.0}


def test_what_cannot_be_compared_costs_only_itself(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2)])
    put(record, [(7, 0, 0.2, 0.2)], dataset="elsewhere")
    found = compared(record, registry, "infinite", "cost-of-robustness", "ranges")
    table = found.table[["dataset", "metric", "value"]].to_numpy().tolist()
    of_both = ["cost-of-robustness", 1.0]
    assert sorted(table) == [["elsewhere", *of_both], ["tiny", *of_both], ["tiny", "ranges", 2.0]]
    assert found.complaints["data set elsewhere is not at hand: no such file"] == 1
    assert any("returned inf" in complaint for complaint in found.complaints)
    assert compared(record, registry, "infinite").table.empty


def test_a_data_set_that_has_changed_is_not_used(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2)], digest="another")
    found = compared(record, registry, "ranges")
    assert found.table.empty
    assert found.complaints == {"data set tiny has changed since the searches: nothing is compared on it": 1}


def test_a_metric_that_declares_another_reference_is_refused(record: Record, registry: Registry) -> None:
    with pytest.raises(StudyError, match="'relative-loss' declares no other searcher or objective"):
        compared(record, registry, "relative-loss")


def test_a_cell_that_failed_later_keeps_its_results(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2)])
    key = put(record, [(7, 0, 0.4, 0.4)], objective="c")
    summary = record.summaries()[key]
    record.fail(summary.info, summary.content, "the worker died")
    assert values(compared(record, registry, "cost-of-robustness"), "cost-of-robustness", "c") == {7: 2.0}


def test_only_the_cells_asked_for_are_compared(record: Record, registry: Registry) -> None:
    put(record, [(7, 0, 0.2, 0.2)])
    put(record, [(7, 0, 0.4, 0.4)], objective="c")
    put(record, [(7, 0, 0.4, 0.4)], objective="k")
    metrics = [resolve_variant(registry, "metric", "cost-of-robustness")]
    chosen = [cell for cell in record.summaries().values() if cell.info.objective != "k"]
    found = compare_cells(record, registry, metrics, cells=chosen)
    assert set(found.table["objective"]) == {"none", "c"}


def test_values_stand_next_to_the_best_repetitions(record: Record, registry: Registry) -> None:
    results = [(7, 0, 0.4, 0.4), (7, 1, 0.3, 0.3), (8, 0, None, None)]
    key = put(record, results, actual={(0, 0): 0.9, (0, 1): 0.5, (1, 0): np.nan})
    cell = record.summaries()[key]
    read = PointResults(record, registry)
    found = read.measured(cell, "actual-cost")
    assert found is not None
    assert found.tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
    assert read.measured(cell, "k-robustness") is None
    assert read.seconds(cell).tolist() == [1.0, 2.0, 1.0]  # every search's, the failed one's included
    first = PointResults(record, registry, {key: range(1)})
    found = first.measured(cell, "actual-cost")
    assert found is not None
    assert found.tolist() == pytest.approx([0.9, np.nan], nan_ok=True)
    assert first.found(cell).loss.tolist() == pytest.approx([0.4, np.nan], nan_ok=True)
    assert first.seconds(cell).tolist() == [1.0, 1.0]


def test_a_comparison_gets_the_results_of_points(record: Record, registry: Registry) -> None:
    key = put(record, [(7, 1, 0.4, 0.4), (7, 0, 0.4, 0.4), (8, 0, None, None)])
    found = PointResults(record, registry).found(record.summaries()[key])
    assert found.row_ids.tolist() == [7, 8]
    assert found.is_found.tolist() == [True, False]
    assert found.repetitions.tolist() == [0, 0]  # of equal values the first
    for numbers, expected in (
        (found.loss, [0.4, np.nan]),
        (found.objective_value, [0.4, np.nan]),
        (found.seconds, [1.0, np.nan]),
        (found.queries, [15.0, np.nan]),
    ):
        assert numbers.tolist() == pytest.approx(expected, nan_ok=True)
    assert found.z.tolist() == [[6.0, 5.0], pytest.approx([np.nan, np.nan], nan_ok=True)]
    assert found.x.tolist() == [X, X]
