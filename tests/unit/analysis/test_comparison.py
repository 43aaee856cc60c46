from __future__ import annotations

import numpy as np
import pytest

from cfbench.analysis.aggregate import Median
from cfbench.analysis.comparison import RelativeMetric, Relatives, compare, reference_of, resolve_reference
from cfbench.analysis.groups import Group, group_cells
from cfbench.analysis.references import PointResults
from cfbench.errors import CfbenchError, UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.registry.entries import MetricEntry
from cfbench.registry.metrics import ComparisonContext, Found, Metric
from cfbench.registry.registry import build_registry
from cfbench.space.space import FloatArray
from cfbench_metrics.optimality import RelativeLoss
from tests.toys.cells import cell

ENTRY = MetricEntry(name="relative-loss", metric=RelativeLoss)
LOSS = RelativeMetric("relative-loss", ENTRY, RelativeLoss())


def results() -> PointResults:
    return PointResults(None, build_registry())


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
    found = compare(LOSS, lore, cogs, results())
    assert found.value == pytest.approx(0.25)
    assert (found.k, found.n) == (3, 3)


def test_only_points_that_both_solved_count_but_all_that_both_were_asked_are_the_denominator() -> None:
    cogs, lore = two(
        [cell([0.2, None, 0.2, 0.0], rows=range(4)), cell([0.3, 0.2, None, 0.1], rows=range(4), searcher="lore")]
    )
    found = compare(LOSS, lore, cogs, results())
    assert found.value == pytest.approx(0.5)
    assert (found.k, found.n) == (1, 4)


def test_nothing_in_common_is_no_value() -> None:
    cogs, lore = two([cell([0.2], rows=[1]), cell([0.2], rows=[2], searcher="lore")])
    assert compare(LOSS, lore, cogs, results()) == Median(None, 0, 0)


class Rows(Metric):
    """Looks at what the summaries of cells do not have."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        difference: FloatArray = (found.z - reference.z).sum(axis=1)
        return difference


def test_without_the_record_a_metric_has_the_numbers_of_summaries_alone() -> None:
    cogs, lore = two([cell([0.2], rows=[1]), cell([0.3], rows=[1], searcher="lore")])
    metric = RelativeMetric("rows", MetricEntry(name="rows", metric=Rows), Rows())
    with pytest.raises(CfbenchError, match="made without its record"):
        compare(metric, lore, cogs, results())


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


class Bad(Metric):
    """Raises."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        raise ZeroDivisionError("loss of nothing")


class Infinite(Metric):
    """Returns an infinity."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        return found.loss * np.inf


@pytest.mark.parametrize(
    ("metric", "message"), [(Bad, "raised ZeroDivisionError: loss of nothing"), (Infinite, "an infinity cannot be")]
)
def test_a_bad_metric_costs_its_column_and_says_so_once(metric: type[Metric], message: str) -> None:
    groups = group_cells([cell([0.2]), cell([0.3], searcher="lore"), cell([0.3], searcher="grow")])
    bad = RelativeMetric("bad", MetricEntry(name="bad", metric=metric), metric())
    relatives = Relatives("cogs", [bad], groups, results())
    assert [relatives.of("bad", group) for group in groups] == [None, None, None]
    (complaint,) = relatives.complaints
    assert "metric 'bad'" in complaint
    assert message in complaint
