from __future__ import annotations

from cfbench.analysis.groups import differences, group_cells
from tests.toys.cells import cell


def test_folds_are_one_group_and_anything_else_makes_another() -> None:
    groups = group_cells(
        [
            cell(fold=1),
            cell(fold=0),
            cell(searcher="cogs[population_size=5]"),
            cell(objective="k"),
            cell(constraints=True),
            cell(model="neural-network"),
        ]
    )
    assert [(group.task.model, group.task.objective, group.task.constraints, group.label) for group in groups] == [
        ("neural-network", "none", False, "cogs"),
        ("random-forest", "k", False, "cogs"),
        ("random-forest", "none", False, "cogs"),
        ("random-forest", "none", False, "cogs[population_size=5]"),
        ("random-forest", "none", True, "cogs"),
    ]
    assert groups[2].folds == (0, 1)


def test_what_no_label_shows_is_told_apart_and_named() -> None:
    groups = group_cells(
        [
            cell(),
            cell(content={"seed": 7}),
            cell(content={"seed": 7}, fold=1),
            cell(content={"searcher": {"version": "2"}}, searcher="lore"),
        ]
    )
    assert [(group.label, group.folds) for group in groups] == [
        ("cogs (seed=42)", (0,)),
        ("cogs (seed=7)", (0, 1)),
        ("lore", (0,)),
    ]


def test_differences_name_nested_and_absent_parts_and_shorten_digests() -> None:
    one = {"dataset": {"digest": "0123456789abcdef" * 2}, "fold": 0}
    other = {"dataset": {"digest": "f" * 32}, "query_budget": None, "fold": 1}
    third = {"dataset": {"digest": "f" * 32}, "query_budget": 10, "fold": 1}
    assert differences([one, other, third]) == [
        "dataset.digest=01234567, query_budget=none",
        "dataset.digest=ffffffff, query_budget=none",
        "dataset.digest=ffffffff, query_budget=10",
    ]
    assert differences([one]) == [""]


def test_points_are_those_of_cells_with_results() -> None:
    (group,) = group_cells(
        [
            cell([0.5, None], rows=[9, 4], fold=0, seconds=(1.5, None), queries=(10, None)),
            cell([0.25], rows=[4], fold=1),
            cell(fold=2, failure="the model predicts one class"),
            cell(fold=3, skipped="does not handle constraints"),
        ]
    )
    assert group.folds == (0, 1)
    assert list(group.points) == [(0, 9), (0, 4), (1, 4)]
    assert (group.points[0, 9].seconds, group.points[0, 9].queries) == (1.5, 10)
    assert (group.points[0, 4].seconds, group.points[0, 4].queries) == (None, None)
