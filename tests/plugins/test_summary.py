"""The summary of a study: one run a searcher with the leaderboard's numbers, and the views that show it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cfbench
from cfbench.record.store import Record
from cfbench.registry import CellFinished, RunFinished
from cfbench.tracking import CHART_VIEW, SUMMARY_TAG, TABLE_VIEW, VIEW_TAG_PREFIX
from cfbench_reporters.summary import summarise, summary_charts, summary_table
from tests.cells import finished_cell, put_cell
from tests.plugins.tracked import begun_reporter

SEARCHERS: dict[str, list[float | None]] = {"cogs": [0.5, 0.25], "lore": [0.5, None], "random-search": [0.75, 0.5]}


@pytest.fixture
def events() -> list[CellFinished]:
    """Three searchers on one task: the first is best at both points, or shares that."""
    first = finished_cell().cell
    return [
        finished_cell(losses, info=replace(first, key=str(number) * 32, searcher=searcher))
        for number, (searcher, losses) in enumerate(SEARCHERS.items())
    ]


@pytest.fixture
def results(store: Path, events: list[CellFinished]) -> Path:
    with Record.open(store.parent, write=True) as record:
        for event in events:
            put_cell(record, event)
    return store.parent


def _run(results: Path, *events: CellFinished) -> None:
    reporter = begun_reporter(f"sqlite:///{results}/mlflow.db", results)
    for event in events:
        reporter.cfbench_cell_finished(event)
    reporter.cfbench_run_finished(RunFinished(len(events), 0, 0, interrupted=False))


def _summary(results: Path) -> tuple[dict[str, str], list[Any]]:
    from mlflow.tracking import MlflowClient

    client: Any = MlflowClient(tracking_uri=f"sqlite:///{results}/mlflow.db")
    number = client.get_experiment_by_name("quick").tags[SUMMARY_TAG]
    experiment = client.get_experiment(number)
    assert experiment.name == "quick: summary"
    return experiment.tags, list(client.search_runs([number], order_by=["metrics.success_rate DESC"]))


@pytest.mark.slow
def test_the_numbers_are_those_of_the_leaderboard(results: Path) -> None:
    runs = summarise(results)[0]
    overall = cfbench.leaderboard(results).overall()
    assert [run.name for run in runs] == overall["searcher"].tolist()
    by_name = {run.name: run for run in runs}
    assert by_name["lore"].metrics["success_rate"] == 0.5
    assert by_name["cogs"].metrics["loss_mean"] == pytest.approx(0.5)  # of the point that everybody solved
    assert by_name["random-search"].metrics["loss_against_best"] == pytest.approx(0.5)
    assert by_name["random-search"].metrics["objective_against_best"] == pytest.approx(0.5)  # of objective none
    assert (by_name["cogs"].metrics["tie"], by_name["cogs"].tags["group"]) == (0.001, "")  # one task: no test
    assert by_name["cogs"].metrics["n_cells"] == 1
    assert by_name["cogs"].metrics["queries"] == 150
    assert by_name["lore"].params == {
        "searcher": "lore",
        "datasets": "credit",
        "models": "random-forest",
        "objectives": "none",
        "constraints": "off",
        "white_box": "no",
    }


def test_ranks_and_wins_go_by_the_objective_value(tmp_path: Path) -> None:
    first = finished_cell().cell
    with Record.open(tmp_path / "record", write=True) as record:
        for number, (searcher, values) in enumerate({"cogs": [0.9, 0.9], "lore": [0.6, 0.7]}.items()):
            info = replace(first, key=str(number) * 32, searcher=searcher, objective="ck")
            put_cell(record, finished_cell([0.1 + 0.1 * number] * 2, info=info, objective_values=values))
    runs = {run.name: run for run in summarise(tmp_path / "record")[0]}
    assert {name: (run.metrics["rank"], run.metrics["wins"]) for name, run in runs.items()} == {
        "lore": (1, 1),
        "cogs": (2, 0),
    }
    assert runs["cogs"].metrics["objective_against_best"] == pytest.approx(1.8 / 1.3 - 1, rel=1e-3)
    assert runs["lore"].metrics["loss_against_best"] == pytest.approx(1.0)


@pytest.mark.slow
def test_it_is_rewritten_in_place(results: Path, events: list[CellFinished]) -> None:
    _run(results, *events)
    _, runs = _summary(results)
    before = {run.info.run_name: run.info.run_id for run in runs}
    assert sorted(before) == sorted(SEARCHERS)
    again = finished_cell([0.5, 0.75], info=events[1].cell)
    with Record.open(results, write=True) as record:
        put_cell(record, again)
    _run(results, again)
    _, runs = _summary(results)
    lore = next(run for run in runs if run.info.run_name == "lore")
    assert (lore.data.metrics["success_rate"], lore.info.run_id) == (1, before["lore"])
    assert len(runs) == len(SEARCHERS)
    # What found nothing any more has no loss: MLflow forgets no metric, so that its run is another one.
    lost = finished_cell([None, None], info=events[1].cell)
    with Record.open(results, write=True) as record:
        put_cell(record, lost)
    _run(results, lost)
    _, runs = _summary(results)
    lore = next(run for run in runs if run.info.run_name == "lore")
    assert "loss_mean" not in lore.data.metrics
    assert lore.info.run_id != before["lore"]
    assert len(runs) == len(SEARCHERS)


def test_many_data_sets_are_counted_and_a_variant_is_a_line_of_its_own(tmp_path: Path) -> None:
    first = finished_cell().cell
    with Record.open(tmp_path / "record", write=True) as record:
        for number, searcher in enumerate(["cogs", "cogs[population_size=50]"] * 5):
            info = replace(first, key=f"{number:032x}", dataset=f"set-{number // 2}", searcher=searcher)
            put_cell(record, finished_cell(info=info))
    runs = summarise(tmp_path / "record")[0]
    assert {run.name for run in runs} == {"cogs", "cogs[population_size=50]"}
    assert {run.params["datasets"] for run in runs} == {"5 data sets"}


def test_nothing_to_summarise(tmp_path: Path) -> None:
    assert summarise(tmp_path) == ([], [])


@pytest.mark.slow
def test_nothing_logged_nothing_written(results: Path, events: list[CellFinished]) -> None:
    _run(results, *events)
    _, before = _summary(results)
    _run(results, *events)  # all there already
    _, after = _summary(results)
    assert [run.data.metrics for run in before] == [run.data.metrics for run in after]
    from mlflow.tracking import MlflowClient

    client: Any = MlflowClient(tracking_uri=f"sqlite:///{results}/mlflow.db")
    history = client.get_metric_history(after[0].info.run_id, "success_rate")
    assert len(history) == 1


@pytest.mark.slow
def test_a_summary_that_failed_is_written_by_the_next_run(
    results: Path, events: list[CellFinished], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cfbench_reporters import mirror

    def fail(*_: object) -> None:
        raise OSError("down")

    monkeypatch.setattr(mirror, "write_summary", fail)
    with pytest.raises(cfbench.errors.TrackingError, match="down"):
        _run(results, *events)
    monkeypatch.undo()
    _run(results)
    _, runs = _summary(results)
    assert len(runs) == len(SEARCHERS)


class TestViews:
    METRICS = frozenset({"rank", "success_rate", "loss_against_best", "queries", "n_cells"})

    @pytest.mark.slow
    def test_they_are_tags_of_the_experiment(self, results: Path, events: list[CellFinished]) -> None:
        _run(results, *events)
        tags, _ = _summary(results)
        table = json.loads(tags[f"{VIEW_TAG_PREFIX}{TABLE_VIEW}"])
        assert "metrics.`success_rate`" in table["selectedColumns"]
        assert json.loads(tags[f"{VIEW_TAG_PREFIX}{CHART_VIEW}"])["compareRunCharts"]
        assert all(len(value) < 5000 or name.startswith(VIEW_TAG_PREFIX) for name, value in tags.items())

    def test_a_table_has_the_columns_that_there_are_sorted_by_rank(self, results: Path) -> None:
        described = summarise(results)[1]
        view = json.loads(summary_table(self.METRICS, described))
        assert view["selectedColumns"] == [
            "tags.`position`",
            *(f"metrics.`{name}`" for name in ("success_rate", "rank", "loss_against_best", "queries", "n_cells")),
        ]
        assert (view["orderByKey"], view["orderByAsc"]) == ("metrics.`rank`", True)
        assert json.loads(summary_table({"success_rate"}, described))["orderByKey"] == "metrics.`success_rate`"

    def test_every_chart_is_in_a_section_that_names_the_better_direction(self, results: Path) -> None:
        view = json.loads(summary_charts(self.METRICS, summarise(results)[1]))
        names = {section["uuid"]: section["name"] for section in view["compareRunSections"]}
        bars = [chart for chart in view["compareRunCharts"] if chart["type"] == "BAR"]
        assert {chart["metricKey"] for chart in bars} == self.METRICS - {"n_cells"}
        assert all("is better" in names[chart["metricSectionId"]] for chart in bars)
        assert list(names.values()) == sorted(names.values()), "MLflow sorts them"
        kinds = {chart["type"] for chart in view["compareRunCharts"]}
        assert kinds == {"BAR", "SCATTER", "PARALLEL"}
        assert len({chart["uuid"] for chart in view["compareRunCharts"]}) == len(view["compareRunCharts"])

    def test_all_metrics_together_fit_into_a_tag(self, results: Path) -> None:
        described = summarise(results)[1]
        assert json.loads(summary_table([], described))["columnOrder"] == ["tags.`position`"]
        names = {one.name for one in described}
        assert {"k-robustness", "invalidity_part_ck", "lof-inlier", "seconds_mean"} < names
        view = json.loads(summary_charts(names, described))
        sections = [section["name"] for section in view["compareRunSections"]]
        assert "07 Robustness, lower is better" in sections
        assert len(summary_charts(names, described)) < 20_000
