"""The second stage on one cell: metrics that behave and metrics that do not."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from cfbench.errors import StudyError
from cfbench.record.schema import Row
from cfbench.registry.contracts import DataSource
from cfbench.registry.metrics import CellContext
from cfbench.registry.registry import Registry
from cfbench.running.measure import cell_metrics, measure_cell
from tests.unit.running.measuring import Metrics, registry_with, variants


@pytest.fixture
def registry() -> Registry:
    return registry_with(Metrics())


@pytest.fixture
def searches() -> list[Row]:
    about = {"cell_key": "c" * 32, "status": "found"}
    return [
        {**about, "point": i // 2, "repetition": i % 2, "search_queries": queries}
        for i, queries in enumerate((10, 20, 30, 40))
    ]


@pytest.fixture
def context(registry: Registry, tmp_path: Path) -> CellContext:
    dataset = registry.dataset("toy").entry.load(DataSource((), tmp_path, download=False))
    nothing = np.array([], dtype=np.int64)

    def no_model() -> None:
        raise AssertionError("no metric of these tests asks for the model")

    return CellContext(dataset, nothing, nothing, False, no_model, 42)  # type: ignore[arg-type] # never asked


def test_a_cell_is_measured_by_search(registry: Registry, searches: list[Row], context: CellContext) -> None:
    measured = measure_cell(searches, context, registry, variants(registry, "rows", "rows[times=0.5]"))
    assert measured.complaints == ()
    first, second = measured.values
    assert (first[0], first[2]) == ("rows", '{"times":1.0}')
    assert (second[0], second[2]) == ("rows[times=0.5]", '{"times":0.5}')
    assert measured.values[second].tolist() == pytest.approx([5.0, np.nan, 15.0, np.nan], nan_ok=True)


def test_a_metric_that_raises_fails_alone(registry: Registry, searches: list[Row], context: CellContext) -> None:
    measured = measure_cell(searches, context, registry, variants(registry, "raises", "rows"))
    assert [metric[0] for metric in measured.values] == ["rows"]
    assert measured.complaints == ("metric 'raises' raised KeyError: 'no such column'",)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("infinite", "returned inf for row 0; an infinity cannot be averaged or stored"),
        ("short", "returned values of shape (3,) for 4 rows"),
        ("square", "returned values of shape (4, 1) for 4 rows"),
        ("words", "not numbers"),
        ("objects", "not numbers"),
        ("list", "returned a list; it must return a numpy array of shape (4,)"),
        ("nothing", "returned a NoneType"),
    ],
)
def test_a_wrong_answer_is_refused_and_named(
    registry: Registry, searches: list[Row], context: CellContext, how: str, message: str
) -> None:
    label = "wrong" if how == "infinite" else f"wrong[how={how}]"
    measured = measure_cell(searches, context, registry, variants(registry, label))
    assert measured.values == {}
    (complaint,) = measured.complaints
    assert complaint.startswith(f"metric {label!r} ")
    assert message in complaint


def states() -> bytes:
    """The global generators of Python and numpy."""
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 - those that plugins use


def test_a_metric_cannot_disturb_anything(registry: Registry, searches: list[Row], context: CellContext) -> None:
    random.seed(3)
    before = states()
    first = measure_cell(searches, context, registry, variants(registry, "noisy"))
    assert states() == before
    assert {row["status"] for row in searches} == {"found"}
    random.seed(4)
    again = measure_cell(searches, context, registry, variants(registry, "noisy"))
    (one,), (other,) = first.values.values(), again.values.values()
    np.testing.assert_array_equal(one, other)


def test_metrics_that_compare_cells_are_passed_over(
    registry: Registry, searches: list[Row], context: CellContext
) -> None:
    measured = measure_cell(searches, context, registry, cell_metrics(variants(registry, "beside"), registry))
    assert measured.values == {}
    assert measured.complaints == ()


def test_what_a_comparison_needs_is_measured(registry: Registry, searches: list[Row], context: CellContext) -> None:
    asked = variants(registry, "beside-none[times=0.5]", "rows", "beside-none")
    measured = measure_cell(searches, context, registry, cell_metrics(asked, registry))
    assert [metric[0] for metric in measured.values] == ["rows[times=0.5]", "rows"]  # each once, whoever asks


def test_a_metric_gets_the_values_that_it_needs(registry: Registry, searches: list[Row], context: CellContext) -> None:
    asked = cell_metrics(variants(registry, 'twice[of="rows[times=0.5]"]'), registry)
    assert [one.label for one in asked] == ['twice[of="rows[times=0.5]"]', "rows[times=0.5]"]
    measured = measure_cell(searches, context, registry, asked)
    twice, rows = measured.values.values()
    assert twice.tolist() == pytest.approx([10, np.nan, 30, np.nan], nan_ok=True)
    assert rows.tolist() == pytest.approx([5, np.nan, 15, np.nan], nan_ok=True)


def test_a_metric_cannot_need_itself_or_one_that_compares(
    registry: Registry, searches: list[Row], context: CellContext
) -> None:
    measured = measure_cell(searches, context, registry, cell_metrics(variants(registry, "circular"), registry))
    assert measured.values == {}
    assert measured.complaints == (
        "metric 'circular' needs itself (circular -> circular): name in `needs` what does not depend on it",
    )
    with pytest.raises(StudyError, match="'beside', which compares cells"):
        cell_metrics(variants(registry, "twice[of=beside]"), registry)
