"""Searchers that minimise the loss alone on a board, after small real runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.analysis.published import CombinedRecord
from cfbench.analysis.standings import RankState
from cfbench.board.board import leaderboard_of
from cfbench.cli import cli
from cfbench.errors import UnknownNameError
from cfbench.record.store import Record
from tests.toys.drifting import TOY, Drifting


def test_a_searcher_that_ignores_the_objective_is_behind_one_that_is_better_by_it_at_every_point(
    drifting: Drifting,
) -> None:
    drifting.run("alone-near", "able-near", "able-far", objectives=("k",), folds=(0, 1))
    rows = {row.label: row for row in drifting.board().board.standings.rows}
    assert (rows["able-far"].rank, rows["able-far"].wins) == (1.0, 1)
    # The same results, searched with and without the objective, share rank and place.
    for name in ("alone-near", "able-near"):
        assert rows[name].state is RankState.RANKED
        assert (rows[name].rank, rows[name].wins) == (2.5, 0)
        assert str(rows[name].position).strip().startswith("2")
    assert rows["alone-near"].loss.value == rows["able-near"].loss.value == 0  # nearest by the loss
    assert (rows["alone-near"].loss_alone, rows["able-near"].loss_alone) == (1, 0)


def test_its_row_is_marked_wherever_it_is_shown(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-near", metrics=("k-robustness", "seconds"))
    shown = drifting.board()
    meaning = "behind a searcher: under objectives other than none it was searched for the loss alone"
    for text in (str(shown), shown.render("markdown"), shown.render("latex")):
        plain = text.replace("\\*", "*")  # as markdown is read
        assert "alone-near*" in plain
        assert "able-near*" not in plain
        assert meaning in " ".join(text.split())
    by_searcher = {row["searcher"]: row for row in csv.DictReader(io.StringIO(shown.render("csv")))}
    assert {name: row["tasks_loss_alone"] for name, row in by_searcher.items()} == {"alone-near": "1", "able-near": "0"}
    rows = {(row["searcher"], row["objective"]): row for row in json.loads(shown.render("json"))["rows"]}
    assert {place: row["loss_alone"] for place, row in rows.items() if row["loss_alone"]} == {("alone-near", "k"): True}
    # Costs are those of the search for the loss; so are metrics.
    for name in ("seconds_mean", "search_queries_mean", "searches", "loss_median"):
        assert rows["alone-near", "k"][name] == rows["alone-near", "none"][name]
    one, other = (row.metrics["k-robustness"].value for row in shown.board.standings.rows)
    assert one == other
    alone = drifting.board(columns=("found", "rank"))
    assert "alone-near*" in str(alone)


def test_a_row_without_values_says_what_adds_them(drifting: Drifting) -> None:
    drifting.run("alone-near", objectives=("none",))
    drifting.run("able-near", "able-far", objectives=("none", "k"))
    shown = drifting.board()
    (row,) = [row for row in shown.board.standings.rows if row.label == "alone-near"]
    reason = (
        "searched for the loss alone, and not judged under objective k yet: `cfbench measure --objective 'k' "
        f"--results {drifting.results}` does that"
    )
    assert (row.state, row.why) == (RankState.NOT_RANKED, f"it ran on all points that count in 1 of 2 tasks; {reason}")
    assert any(reason in caution for caution in shown.board.cautions)
    assert "alone-near*" not in str(shown)


def test_cells_that_were_only_made_to_be_judged_are_no_task(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-near", objectives=("k", "ck"))
    board = drifting.board().board
    assert [view.task.objective for view in board.standings.tasks] == ["ck", "k"]
    assert board.cells == 4
    # One cell of alone-near, judged under both objectives, and two of able-near.
    assert board.standings.cells == board.standings.ran == 3


def test_one_searcher_alone_shows_the_value_that_its_tasks_ask_for(drifting: Drifting) -> None:
    drifting.run("able-near", objectives=("none", "k"))
    shown = drifting.board()
    (row,) = shown.board.standings.rows
    values = [result.objective for result in row.results if result is not None]
    assert row.mean_objective.value == pytest.approx(sum(value for value in values if value is not None) / 2)
    assert row.mean_loss.value is not None
    assert row.mean_objective.value is not None
    assert row.mean_objective.value > row.mean_loss.value
    assert any("objective" in line and "loss" in line for line in str(shown).splitlines()[:8])


def test_a_record_of_such_searchers_alone_keeps_its_task_of_the_loss(drifting: Drifting) -> None:
    drifting.run("alone-near", "alone-luck")
    assert [view.task.objective for view in drifting.board().board.standings.tasks] == ["k", "none"]


def test_own_results_under_the_objective_go_before_judged_ones(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-near")
    drifting.change_plugin(
        (
            'name=f"alone-{function.__name__}", searcher=function, handles=[Handles.CONSTRAINTS]',
            'name=f"alone-{function.__name__}", searcher=function, handles=able',
        )
    )
    assert drifting.run("alone-near", "able-near").searches_run == 3
    shown = drifting.board()
    assert not any(row.loss_alone for row in shown.board.standings.rows)


def test_two_searchers_are_compared_by_the_judged_values(drifting: Drifting) -> None:
    drifting.run("alone-near", "able-far")
    arguments = ["compare", "alone-near", "able-far", "--results", str(drifting.results), "--objective", "k"]
    result = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    (task,) = json.loads(result.stdout)["tasks"]
    assert (task["wins"], task["losses"]) == (0, 3)


def test_own_results_next_to_others_are_judged_on_their_tasks(drifting: Drifting, tmp_path: Path) -> None:
    drifting.run("able-near", "able-far", objectives=("k",))
    others = drifting.results
    drifting.results = tmp_path / "mine"
    drifting.run("alone-near", objectives=("k",))  # its search for the loss is of no task that the others have
    with Record.open(drifting.results) as own, Record.open(others) as published:
        shown = leaderboard_of(CombinedRecord(own, published), drifting.registry)
    assert shown.problems == ()
    rows = {row.searcher.name: row for row in shown.board.standings.rows}
    assert [view.task.objective for view in shown.board.standings.tasks] == ["k"]
    assert rows["alone-near"].rank == rows["able-near"].rank == 2.5
    assert {name for name, row in rows.items() if row.searcher.yours} == {"alone-near"}


@pytest.mark.slow
def test_the_command_judges_what_a_study_or_an_option_names(
    drifting: Drifting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(drifting.cache))
    drifting.run("alone-near", objectives=("none",))
    drifting.run("able-near", objectives=("none", "c", "k"))

    def measure(*arguments: str) -> list[list[str]]:
        common = ["measure", "--results", str(drifting.results), "--plugin", str(TOY)]
        result = CliRunner().invoke(cli, [*common, *arguments])
        assert result.exit_code == 0, result.output
        return [line.split()[:5] for line in result.stdout.splitlines() if line.startswith("objective:")]

    assert measure("--objective", "k") == [["objective:k", "1", "of", "1", "1"]]
    study = drifting.results.parent / "study.toml"
    study.write_text(
        'datasets = ["drifting"]\nmodels = ["rule"]\nsearchers = ["alone-near"]\nobjectives = ["none", "k", "c"]\n'
        "metrics = []\n",
        "utf-8",
    )
    assert measure(str(study)) == [["objective:k", "1", "of", "1", "0"], ["objective:c", "1", "of", "1", "1"]]
    assert [name for name, *_ in measure("--all")] == ["objective:c", "objective:k"]
    unknown = CliRunner().invoke(cli, ["measure", "--results", str(drifting.results), "--objective", "kk"])
    assert isinstance(unknown.exception, UnknownNameError)
