"""What is read from a record, which cells, and what is said to be missing."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfbench.cli.run import command as run_command
from cfbench.cli.run import study_from_options
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry, build_registry
from cfbench.study.plan import make_plan
from cfbench_paper.evidence import (
    COMPARED,
    MEASURED,
    NEEDED,
    Evidence,
    Place,
    gather,
    in_matrix,
    place_of,
    select,
)
from cfbench_paper.gaps import first_commands, gap_table, gaps, matrix
from tests.plugins.paper.records import context, datasets, put, registry


def holding(evidence: Evidence, places: Sequence[Place]) -> Evidence:
    """Evidence of a record with cells at these places, each like the one of `evidence`."""
    (cell,) = evidence.selection.cells.values()

    def at(place: Place) -> CellSummary:
        dataset, model, searcher, objective, constraints, fold = place
        info = replace(cell.info, dataset=dataset, model=model, searcher=searcher, objective=objective)
        return replace(cell, info=replace(info, constraints=constraints, fold=fold))

    return replace(evidence, selection=replace(evidence.selection, cells={place: at(place) for place in places}))


def test_the_matrix_is_the_papers() -> None:
    places = matrix(range(5))
    assert len(places) == len(set(places)) == 5 * 2 * 5 * (8 + 6)
    assert all(in_matrix(place) for place in places)
    dataset, model, searcher, _, _, fold = places[0]
    for other in (
        (dataset, model, "lore", "k", True, fold),
        (dataset, model, searcher, "k", False, fold),
        (dataset, model, searcher, "k[m=8]", True, fold),
        ("wine", model, searcher, "none", False, fold),
        (dataset, "random-forest[n_estimators=50]", searcher, "none", False, fold),
    ):
        assert not in_matrix(other)


def test_values_of_the_right_points_and_metrics(record: Record) -> None:
    put(record, [(7, 0.2, 1.0), (8, 0.1, 1.0), (9, None, 1.0)], measures={"actual-cost": [0.3, np.nan, np.nan]})
    put(
        record,
        [(8, 0.3, 3.0), (7, 0.3, 1.5)],
        objective="k[m=4]",
        step=0.1,
        measures={"actual-cost": [0.4, 0.5], "k-robustness": [0.6, 0.7]},
    )
    found = gather(context(record), datasets())
    robust = found.robust

    def value(objective: str, row_id: int, column: str) -> Any:
        mine = robust[(robust["objective"] == objective) & (robust["row_id"] == row_id)]
        return mine[column].tolist()[0]

    assert [value("k[m=4]", 7, name) for name in ("m", "robustness", "k-robustness")] == [4, "k", 0.7]
    assert value("k[m=4]", 7, "cost-of-robustness") == pytest.approx(1.5)
    assert value("k[m=4]", 8, "time-of-robustness") == pytest.approx(2.0)
    assert value("k[m=4]", 7, "relative-cost/k/uniform") == pytest.approx(2.5)
    assert value("none", 7, "relative-cost/k/uniform") == pytest.approx(1.5)
    assert np.isnan(value("none", 8, "relative-cost/k/uniform"))
    assert value("k[m=4]", 7, "accidental/1") == 1.0  # a tenth apart, of a range of 89
    assert not value("none", 9, "found")
    assert {*MEASURED, *COMPARED} <= set(found.robust.columns)
    assert found.searching.empty
    # Everything but the three metrics above, which one of the two cells lacks.
    assert found.unmeasured["k-robustness"] == 1
    assert found.unmeasured["fixability"] == 2
    assert "actual-cost" not in found.unmeasured


def test_comparisons_take_the_repetitions_that_all_cells_have(record: Record) -> None:
    put(record, [(7, 0.2, 1.0), (7, 0.1, 3.0), (8, 0.3, 1.0), (8, 0.3, 1.0)])
    put(record, [(7, 0.4, 2.0), (8, 0.6, 2.0)], objective="c")
    put(record, [(7, 0.1, 9.0), (8, 0.2, 9.0)], searcher="exact-trees", bounds={7: 0.1, 8: 0.2})
    found = gather(context(record), datasets())
    ours = {(row["objective"], row["row_id"]): row for row in found.robust.to_dict("records")}
    # The second repetition under none, which found 0.1, is in no comparison.
    assert ours["c", 7]["cost-of-robustness"] == pytest.approx(2.0)
    assert [ours["none", 7][name] for name in ("loss", "cpu_seconds", "queries")] == [0.2, 1.0, 10.0]
    assert found.selection.passed_over == 0
    assert [cell.info.searcher for cell in found.selection.exact] == ["exact-trees"]
    # Gaps of row 7: 100 % and 0; of row 8: twice 50 %. The best of two: 0 and 50 %.
    table = gap_table(found.optimum)
    assert [(row.heads, [entry.text for entry in row.entries]) for row in table.rows] == [
        (("Hou", "on", "one search"), ["50.00 % (n = 2)", "25 % (n = 2)"]),
        (("Hou", "on", "best of 2"), ["25.00 % (n = 2)", "50 % (n = 2)"]),
    ]


def test_one_search_per_point_is_no_best_of_several(record: Record) -> None:
    put(record, [(7, 0.2, 1.0), (8, None, 1.0)])
    put(record, [(7, 0.1, 9.0), (8, 0.2, 9.0)], searcher="exact-trees", bounds={7: 0.1, 8: 0.2})
    (row,) = gap_table(gather(context(record), datasets()).optimum).rows
    assert (row.heads, row.entries[0].text) == (("Hou", "on", "one search"), "100.00 % (n = 1)")


def test_searchers_without_constraints(record: Record) -> None:
    put(record, [(7, 0.2, 1.0), (8, None, 3.0)], constraints=False, searcher="lore")
    put(record, [(7, 0.2, 5.0)], constraints=False, searcher="lore", fold=1)
    found = gather(context(record), datasets())
    assert found.searching[["searcher", "fold", "row_id", "found"]].to_numpy().tolist() == [
        ["lore", 0, 7, True],
        ["lore", 0, 8, False],
        ["lore", 1, 7, True],
    ]
    # Failed searches took their time as well.
    assert found.seconds["housing", "random-forest", "lore"].tolist() == [1.0, 3.0, 5.0]
    assert found.robust.empty
    assert "fixability/c/uniform" in found.robust.columns


def test_a_data_set_that_is_not_at_hand_or_has_changed_costs_its_comparisons_alone(record: Record) -> None:
    put(record, [(7, 0.2, 1.0)], dataset="income", measures={"k-robustness": [0.5]})
    put(record, [(7, 0.2, 1.0)], content={"dataset": {"name": "housing", "digest": "older"}})
    put(record, [(7, 0.2, 1.0)], dataset="credit")
    found = gather(context(record), datasets())
    values = found.robust.set_index("dataset")
    assert values.loc["income", "k-robustness"] == 0.5
    assert not values["cost-of-robustness"].isna().any()  # the losses are in the record
    (distances, *_) = [str(name) for name in values if str(name).startswith("accidental")]
    assert values[distances].isna().to_dict() == {"credit": False, "housing": True, "income": True}
    assert any(text.startswith("data set income is not at hand") for text in found.complaints)
    assert any(text.startswith("data set housing has changed since") for text in found.complaints)


def test_other_setups_stay_apart(record: Record) -> None:
    put(record, [(7, 0.2, 1.0)])
    put(record, [(7, 0.3, 1.0)], objective="c")
    put(record, [(7, 0.4, 1.0)], content={"seed": 7})
    # Searchers have budgets of their own: that is no other setup.
    put(record, [(7, 0.5, 1.0)], constraints=False, searcher="lore", content={"query_budget": 10})
    # Of two versions of the searcher the one that has more cells counts.
    put(record, [(7, 0.6, 1.0)], objective="k", content={"searcher": {"name": "cogs", "version": "0"}})
    put(record, [(7, 0.7, 1.0)], dataset="wine")
    found = select(record.summaries().values())
    assert sorted(cell.loss[0] or 0.0 for cell in found.cells.values()) == [0.2, 0.3, 0.5]
    assert (found.other_setups, found.passed_over) == (2, 1)
    assert [place_of(cell) for cell in found.searching] == [("housing", "random-forest", "lore", "none", False, 0)]


def test_a_cell_that_failed_later_counts_and_one_that_never_ran_says_why(record: Record) -> None:
    key = put(record, [(7, 0.2, 1.0)])
    summary = record.summaries()[key]
    record.fail(summary.info, summary.content, "the worker died")
    never = replace(summary.info, key="0" * 32, searcher="dice-a", constraints=False)
    record.skip(never, {**summary.content, "constraints": False}, "it needs the package dice-ml")
    found = select(record.summaries().values())
    assert len(found.cells) == 1
    assert list(found.without_results.values()) == ["it needs the package dice-ml"]


@pytest.mark.slow
def test_what_is_missing_and_the_commands_that_add_it(record: Record, tmp_path: Path) -> None:
    put(record, [(7, 0.2, 1.0), (8, 0.2, 1.0)], fold=2)
    present = [place for place in matrix((2,)) if place[3] in ("none", "c") and place[4]]
    present.append(("credit", "random-forest", "cogs", "k", True, 2))
    evidence = holding(gather(context(record), datasets()), present)
    found = gaps(evidence, tmp_path / "my results")
    assert found.cells == 10 * (8 - 2) - 1 + 10 * 6
    (k,) = [line for line in found.missing if "objective k," in line]
    assert k == (
        "CoGS, objective k, constraints on: Cre (neural network, fold 2); "
        "Inc, Hou, Pro, Rec (random forest and neural network, fold 2)"
    )
    assert found.coverage[0].startswith("On robustness: 21 cells; fold 2 of 0 to 4; 2 points per cell, of 40 eligible")
    assert found.coverage[1] == "Nothing on the searchers: no cell with constraints off."
    needed = Counter(variant.name for variant in context(record).measured_for(NEEDED))
    assert len(found.unmeasured) == len(needed)
    assert f"fixability, {needed['fixability']} variants (in 1 cell)" in found.unmeasured
    assert found.measure == f"cfbench measure --preset paper --results '{tmp_path / 'my results'}'"

    planned = {place for line in found.run for place in _planned(line, build_registry(), tmp_path)}
    absent = set(matrix((2,))) - set(present)
    assert absent <= planned
    assert all(in_matrix(place) for place in planned)
    assert "--points 2 --repetitions 1 --seed 42" in found.run[0]


def test_nothing_is_missing(record: Record) -> None:
    put(record, [(7, 0.2, 1.0)], measures={variant.label: [0.5] for variant in context(record).measured_for(NEEDED)})
    one = gather(context(record), datasets())
    assert one.unmeasured == {}
    found = gaps(holding(one, matrix((0,))), Path("results"))
    assert (found.cells, found.run, found.missing, found.measure) == (0, (), (), "")
    assert found.whole == "cfbench run --preset paper --results results"


def test_the_first_commands_plan_the_first_comparison(tmp_path: Path) -> None:
    lines = [line.strip() for line in first_commands(Path("results")).splitlines() if line.startswith("  ")]
    planned = set(_planned(lines[0], registry(), tmp_path))
    assert planned == {place for place in matrix((0,)) if place[4] and "[" not in place[3]}


def _planned(line: str, registry: Registry, folder: Path) -> list[tuple[str, str, str, str, bool, int]]:
    """Return the cells that a command line would run; data sets that are not shipped are known all the same."""
    words = shlex.split(line)
    assert words[:2] == ["cfbench", "run"]
    context = run_command.make_context("run", words[2:], resilient_parsing=False)
    options = {name: value for name, value in context.params.items() if name not in ("data_dirs", "plugins", "strict")}
    _, study = study_from_options(options)
    study = study.model_copy(update={"optional_datasets": study.datasets})
    plan = make_plan(study, registry, DataSource((), folder, download=False))
    asked = [cell.info for cell in plan.cells]
    places = [(info.dataset, info.model, info.searcher, info.objective, info.constraints, info.fold) for info in asked]
    # What cannot be loaded here is in the study, if not in the plan.
    for dataset in set(study.datasets) - {place[0] for place in places}:
        places += [(dataset, *place[1:]) for place in places if place[0] == places[0][0]]
    return places
