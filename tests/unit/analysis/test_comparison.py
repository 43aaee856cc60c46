from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfbench.analysis.aggregate import Median
from cfbench.analysis.comparison import Relatives, compare, point_frame, reference_of, resolve_reference
from cfbench.analysis.groups import Group, group_cells
from cfbench.errors import UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.registry.contracts import ComparisonMetric
from cfbench.registry.entries import MetricEntry
from cfbench_metrics.optimality import RelativeLoss
from tests.toys.cells import cell

ENTRY = MetricEntry(name="relative-loss", metric=RelativeLoss)


def two(cells: list[CellSummary]) -> tuple[Group, Group]:
    """The groups of cogs and of another searcher."""
    cogs, other = group_cells(cells)
    assert cogs.searcher == "cogs"
    return cogs, other


def test_points_are_matched_by_fold_and_row_whatever_their_order() -> None:
    cogs, lore = two(
        [
            cell([0.1, 0.2, 0.4], rows=[5, 6, 7]),
            cell([0.5], rows=[5], fold=1),
            cell([0.5, 0.1, 0.3], rows=[7, 5, 8], searcher="lore"),  # row 8 was not asked of cogs
            cell([1.0, None], rows=[5, 6], fold=1, searcher="lore"),  # nor row 6 of fold 1
        ]
    )
    # (0.5 - 0.4) / 0.4 = 0.25, 0, (1 - 0.5) / 0.5 = 1
    found = compare(ENTRY, lore, cogs)
    assert found.value == pytest.approx(0.25)
    assert (found.k, found.n) == (3, 3)


def test_only_points_that_both_solved_count_but_all_that_both_were_asked_are_the_denominator() -> None:
    cogs, lore = two(
        [cell([0.2, None, 0.2, 0.0], rows=range(4)), cell([0.3, 0.2, None, 0.1], rows=range(4), searcher="lore")]
    )
    found = compare(ENTRY, lore, cogs)
    assert found.value == pytest.approx(0.5)
    assert (found.k, found.n) == (1, 4)


def test_nothing_in_common_is_no_value() -> None:
    cogs, lore = two([cell([0.2], rows=[1]), cell([0.2], rows=[2], searcher="lore")])
    assert compare(ENTRY, lore, cogs) == Median(None, 0, 0)


def test_the_frame_has_the_promised_columns() -> None:
    (group,) = group_cells(
        [cell([0.5, None], rows=[3, 4], objective_value=(0.75, None), seconds=(2.0, None), queries=(70, None))]
    )
    frame = point_frame(group, list(group.points))
    assert frame.to_dict("list") == {
        "row_id": [3, 4],
        "found": [True, False],
        "loss": [0.5, pytest.approx(np.nan, nan_ok=True)],
        "objective_value": [0.75, pytest.approx(np.nan, nan_ok=True)],
        "seconds": [2.0, pytest.approx(np.nan, nan_ok=True)],
        "queries": [70.0, pytest.approx(np.nan, nan_ok=True)],
    }


def test_a_reference_is_a_label_or_a_name_with_one_variant() -> None:
    groups = group_cells([cell(searcher="cogs[population_size=5]"), cell(searcher="lore")])
    assert resolve_reference("lore", groups) == "lore"
    assert resolve_reference("cogs", groups) == "cogs[population_size=5]"
    with pytest.raises(UnknownNameError, match=r"unknown reference searcher 'grow'\..*cogs\[population_size=5\].*lore"):
        resolve_reference("grow", groups)
    several = [*groups, *group_cells([cell(searcher="cogs[population_size=9]")])]
    with pytest.raises(UnknownNameError, match="'cogs'"):
        resolve_reference("cogs", several)


def test_the_reference_is_sought_on_the_same_task_data_and_model() -> None:
    groups = group_cells(
        [
            cell(searcher="lore", content={"dataset": "credit 1"}),
            cell(searcher="cogs", content={"dataset": "credit 2"}),
            cell(searcher="cogs", content={"dataset": "credit 1"}, objective="k"),
        ]
    )
    lore = next(group for group in groups if group.searcher == "lore")
    assert reference_of(lore, "cogs", groups) is None


def test_of_several_setups_the_most_alike_is_the_reference() -> None:
    groups = group_cells([cell(content={"seed": 7}), cell(), cell(searcher="lore", content={"query_budget": 10})])
    found = reference_of(groups[2], "cogs", groups)
    assert found is not None
    assert found.setup == "seed=42"


class Bad(ComparisonMetric):
    """Misbehaves in the way that its setting names."""

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        raise ZeroDivisionError("loss of nothing")


class Infinite(ComparisonMetric):
    """Returns an infinity."""

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        return points["loss"] * np.inf


@pytest.mark.parametrize(
    ("metric", "message"), [(Bad, "raised ZeroDivisionError: loss of nothing"), (Infinite, "an infinity cannot be")]
)
def test_a_bad_metric_costs_its_column_and_says_so_once(metric: type[ComparisonMetric], message: str) -> None:
    groups = group_cells([cell([0.2]), cell([0.3], searcher="lore"), cell([0.3], searcher="grow")])
    relatives = Relatives("cogs", [MetricEntry(name="bad", metric=metric)], groups)
    assert [relatives.of("bad", group) for group in groups] == [None, None, None]
    (complaint,) = relatives.complaints
    assert "metric 'bad'" in complaint
    assert message in complaint
