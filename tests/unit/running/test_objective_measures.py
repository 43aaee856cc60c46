"""Searchers that minimise the loss alone, in studies with other objectives: planned, run, judged, verified."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench.analysis.loss_alone import JudgedCell, board_cells, record_key, rows_of
from cfbench.record.measures import OBJECTIVE
from cfbench.record.store import Record
from cfbench.running.progress import CellState, preview_of
from cfbench.study.plan import Plan
from tests.toys.drifting import Drifting


def places(plan: Plan) -> list[tuple[str, str, tuple[str, ...], bool, int]]:
    return [
        (cell.info.searcher, cell.info.objective, tuple(one.label for one in cell.judged), cell.named, cell.searches)
        for cell in plan.cells
    ]


def test_a_searcher_of_the_loss_alone_is_planned_with_one_search_for_all_objectives(drifting: Drifting) -> None:
    plan = drifting.plan("alone-near", "able-near", objectives=("none", "k", "ck"))
    assert places(plan) == [
        ("alone-near", "none", ("k", "ck"), True, 3),
        *(("able-near", objective, (), True, 3) for objective in ("none", "k", "ck")),
    ]
    assert plan.notes == ("alone-near: searched for the loss alone, and judged under objective k, ck",)


def test_a_study_without_objective_none_gets_the_cells_that_are_judged(drifting: Drifting) -> None:
    plan = drifting.plan("alone-near", "able-near", objectives=("k[m=8]",))
    assert places(plan) == [("alone-near", "none", ("k[m=8]",), False, 3), ("able-near", "k[m=8]", (), True, 3)]
    assert plan.notes == (
        "alone-near: searched for the loss alone, and judged under objective k[m=8] "
        "(1 cell of objective none added for that)",
    )
    with_none = drifting.plan("alone-near", objectives=("none",))
    assert plan.cells[0].info.key == with_none.cells[0].info.key


def test_sums_are_searched_where_the_objective_is_one_and_judged_elsewhere(drifting: Drifting) -> None:
    assert places(drifting.plan("sums-near", objectives=("c", "ck"))) == [
        ("sums-near", "c", (), True, 3),
        ("sums-near", "none", ("ck",), False, 3),
    ]


def test_a_value_is_what_the_judge_gives_to_the_same_result_of_a_search_under_the_objective(drifting: Drifting) -> None:
    names = ("c", "k", "ck", "k[m=4]", "small")
    drifting.run("alone-near", "able-near", objectives=("none", *names), folds=(0, 1))
    with Record.open(drifting.results) as record:
        found = [cell for cell in board_cells(record, drifting.registry).values() if cell.info.objective != "none"]
        values = {
            (cell.info.searcher, cell.info.objective, cell.info.fold, row["point"]): row["objective_value"]
            for cell in found
            for row in rows_of(record, cell)
        }
    assert len(values) == 2 * len(names) * 2 * 3
    for (searcher, *place), value in values.items():
        if searcher == "alone-near":
            assert value == values["able-near", *place]  # bit for bit
    of_k = [value for (_, objective, *_), value in values.items() if objective == "k"]
    assert len(set(of_k)) > 3  # draws are each point's own


def test_values_are_those_worked_out_by_hand(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-far", objectives=("c", "k", "small"))
    with Record.open(drifting.results) as record:
        cells = board_cells(record, drifting.registry).values()
        judged = {cell.info.objective: cell for cell in cells if cell.info.searcher == "alone-near"}
        rows = record.rows(record_key(judged["c"]))
    for i, row in enumerate(rows):
        size, age = row["x"]
        new = 12 - age / 10 + 0.1
        loss = ((new - size) / 20 / 2 + 1 / 2) / 2  # half of Gower's distance, half of the share of changed features
        assert row["loss"] == pytest.approx(loss)
        setback = min(2, new - size) / 20 / 2 / 2  # walked again: half of the share of the range, of two features
        assert judged["c"].objective_value[i] == pytest.approx(loss + setback)
        assert judged["small"].objective_value[i] == pytest.approx(loss + 0.01 * new)
        # Of the drifts of `age`, uniform in [-8, 8], those above -1 keep the class: 9 of 16; 1,000 draws, five sigmas.
        assert judged["k"].objective_value[i] == pytest.approx(loss + (7 / 16) / 2, abs=5 * 0.5 * 0.0157)
        assert judged["k"].loss[i] == row["loss"]


def test_what_the_study_lacks_is_searched_once_and_is_no_task_of_its_own(drifting: Drifting) -> None:
    report = drifting.run("alone-near", "able-near", objectives=("k",))
    assert report.searches_run == 6
    assert set(drifting.cells()) == {("alone-near", "k"), ("able-near", "k")}
    assert drifting.run("alone-near", "able-near", objectives=("k",)).searches_run == 0
    # With `none` in the study, its own searches are added, and the task appears with both searchers.
    assert drifting.run("alone-near", "able-near", objectives=("none", "k")).searches_run == 3
    assert set(drifting.cells()) == {(name, under) for name in ("alone-near", "able-near") for under in ("none", "k")}


def test_a_judged_cell_is_that_of_the_loss_with_the_values_of_the_task(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-near", metrics=("k-robustness",))
    cells = drifting.cells()
    judged, source = cells["alone-near", "k"], cells["alone-near", "none"]
    assert isinstance(judged, JudgedCell)
    assert not isinstance(source, JudgedCell)
    assert judged.judged_from == source.info.key
    own = drifting.plan("able-near", objectives=("k",)).cells[0]
    assert (
        judged.content["objective"] == own.content["objective"] == {"name": "k", "version": "1", "settings": {"m": 64}}
    )
    same = ("loss", "results", "seconds", "queries", "row_ids", "tries", "successes", "statuses", "fingerprints")
    assert all(getattr(judged, name) == getattr(source, name) for name in same)
    assert judged.objective_value == cells["able-near", "k"].objective_value != source.objective_value
    assert judged.info.versions["objective"] == "1"


def test_a_point_has_its_best_repetition_by_the_value_under_the_task(drifting: Drifting) -> None:
    drifting.run("alone-luck", "able-near", repetitions=6, points=4)
    cells = drifting.cells()
    judged, source = cells["alone-luck", "k"], cells["alone-luck", "none"]
    with Record.open(drifting.results) as record:
        rows = rows_of(record, judged)
    for point in range(4):
        found = [row for row in rows if row["point"] == point and row["loss"] is not None]
        best = min(found, key=lambda row: row["objective_value"])
        nearest = min(found, key=lambda row: row["loss"])
        assert judged.objective_value[point] == best["objective_value"]
        assert judged.loss[point] == best["loss"]
        assert judged.results[point] == best["repetition"]
        assert source.results[point] == nearest["repetition"]
        assert judged.seconds[point] == source.seconds[point]
    assert judged.results != source.results
    assert sum(judged.successes) == len([row for row in rows if row["loss"] is not None]) < len(rows)


def test_of_a_set_the_result_for_the_loss_is_judged(drifting: Drifting) -> None:
    drifting.run("alone-both", "able-near", "able-far")
    cells = drifting.cells()
    near, far = (np.array(cells[f"able-{name}", "k"].objective_value, dtype=float) for name in ("near", "far"))
    assert cells["alone-both", "k"].objective_value == tuple(near)
    assert (near > far).all()  # the set held the better row, too


def test_a_raised_version_of_an_objective_is_judged_again_without_a_search_for_the_loss(drifting: Drifting) -> None:
    drifting.run("alone-near", objectives=("none", "small"))
    (first,) = [cell for (_, objective), cell in drifting.cells().items() if objective == "small"]
    drifting.change_plugin(('version="1"', 'version="2"'), ("WEIGHT = 0.01", "WEIGHT = 0.02"))
    assert drifting.run("alone-near", objectives=("none", "small")).searches_run == 0
    with Record.open(drifting.results) as record:
        found = [cell for cell in board_cells(record, drifting.registry).values() if cell.info.objective == "small"]
    values = {cell.content["objective"]["version"]: np.array(cell.objective_value) for cell in found}
    losses = np.array(first.loss)
    np.testing.assert_allclose(values["2"] - losses, 2 * (values["1"] - losses))


def test_an_older_record_is_judged_by_the_second_stage(drifting: Drifting) -> None:
    drifting.run("alone-near", objectives=("none",))
    drifting.run("able-near", objectives=("none", "k", "ck"))
    waiting = drifting.cells()["alone-near", "ck"]
    assert not waiting.has_results
    assert waiting.skipped == (
        "searched for the loss alone, and not judged under objective ck yet: "
        f"`cfbench measure --objective 'ck' --results {drifting.results}` does that"
    )
    stage = drifting.measure("k", "ck")
    counts = [(tally.metric.label, tally.asked, tally.cells, tally.added, tally.counted) for tally in stage.tallies]
    assert counts == [("objective:k", 1, 1, 1, 3), ("objective:ck", 1, 1, 1, 3)]
    assert [tally.added for tally in drifting.measure("k", "ck").tallies] == [0, 0]
    cells = drifting.cells()
    for objective in ("k", "ck"):
        assert cells["alone-near", objective].objective_value == cells["able-near", objective].objective_value
    assert drifting.run("alone-near", "able-near", objectives=("none", "k", "ck")).searches_run == 0


def test_a_plan_counts_what_is_to_be_judged(drifting: Drifting) -> None:
    drifting.run("alone-near", objectives=("none",))
    plan = drifting.plan("alone-near", "able-near", objectives=("none", "k"))
    preview = preview_of(plan, drifting.registry)
    assert preview.states == {CellState.UNMEASURED: 1, CellState.MISSING: 2}
    assert (preview.searches, preview.missing, len(preview.cells[0].missing_measures)) == (9, 6, 1)
    assert preview.cells[0].to_json()["judged_under"] == ["k"]
    drifting.run("alone-near", "able-near", objectives=("none", "k"))
    assert preview_of(plan, drifting.registry).states == {CellState.DONE: 3}


def test_data_without_perturbations_are_searched_under_the_objective_as_before(drifting: Drifting) -> None:
    drifts = (", perturbation=NumericalPerturbation(2, 2)", ", perturbation=NumericalPerturbation(8, 8)")
    drifting.change_plugin(*((drift, "") for drift in drifts))
    assert places(drifting.plan("alone-near", objectives=("none", "ck"))) == [
        ("alone-near", "none", (), True, 3),
        ("alone-near", "ck", (), True, 3),
    ]
    drifting.run("alone-near", objectives=("none",))
    drifting.measure("ck")  # it adds nothing here, so that the value is the loss
    cell = drifting.cells()["alone-near", "ck"]
    assert cell.objective_value == cell.loss


def test_a_forged_value_is_found(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-near")
    assert drifting.verify().is_sound
    with Record.open(drifting.results, write=True) as record:
        key = next(
            key
            for key, cell in record.summaries().items()
            if cell.info.searcher == "alone-near" and record.measured()[key]
        )
        table = record.measures(key)
        assert set(table["metric"]) == {f"{OBJECTIVE}k"}
        table.loc[table["point"] == 1, "value"] -= 0.01
        record.write_measures(key, table)
    found = drifting.verify()
    assert found.faults == [
        "alone-near on drifting, rule, none, fold 0: judged again under objective k, it has other values"
    ]


def test_values_of_another_version_of_the_objective_are_not_verified(drifting: Drifting) -> None:
    drifting.run("alone-near", objectives=("none", "small"))
    drifting.change_plugin(('version="1"', 'version="2"'))
    found = drifting.verify()
    assert not found.is_sound
    assert list(found.unverified) == [
        "objective small has version 2 here, and results of searchers that minimise the loss alone were judged by "
        "version 1: install that one"
    ]
