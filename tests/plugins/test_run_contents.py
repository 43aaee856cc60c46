"""What a cell's run shows besides numbers: its curve, its figures, its note, its files."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cfbench.cli.run import command as run_command
from cfbench.record import MEASURE_SCHEMA
from cfbench.registry import CellFinished, RunStarted
from cfbench.tracking import command_again
from cfbench_reporters.cell_files import CellTables
from cfbench_reporters.cell_run import MOST_STEPS, anytime_curve, cell_note
from cfbench_reporters.figures import cell_figures
from cfbench_reporters.tracking import TrackingReporter

FinishedCell = Callable[..., CellFinished]
PNG = b"\x89PNG\r\n"


def _measures(key: str) -> pd.DataFrame:
    rows = [(key, "sparsity", "1", "{}", point, 0, value) for point, value in enumerate([1.0, float("nan")])]
    return pd.DataFrame(rows, columns=MEASURE_SCHEMA.names)


class TestCurve:
    def _curve(self, *searches: list[tuple[int, float]]) -> dict[int, float]:
        curve = anytime_curve(pd.DataFrame({"anytime": list(searches)}))
        return dict(zip(curve.queries.tolist(), curve.losses.tolist(), strict=True))

    def test_the_median_of_what_each_search_has_so_far(self) -> None:
        first, second, third = [(1, 0.9), (10, 0.3)], [(5, 0.8), (20, 0.1)], [(30, 0.5)]
        # At 1 only one of three has anything: the median is infinite, and left out. At 5: 0.9, 0.8, infinite.
        assert self._curve(first, second, third) == {5: 0.9, 10: 0.8, 20: 0.3, 30: 0.3}

    def test_of_two_searches_the_mean_once_both_have_something(self) -> None:
        assert self._curve([(1, 0.5)], [(3, 0.25)]) == {3: 0.375}

    def test_giving_up_on_most_points_gains_nothing(self) -> None:
        assert self._curve([(1, 0.1)], [], []) == {}
        assert self._curve() == {}

    def test_a_long_curve_keeps_its_ends_and_never_rises(self) -> None:
        steps = [(queries, 1 / queries) for queries in range(1, 5001)]
        curve = self._curve(steps)
        assert len(curve) <= MOST_STEPS
        assert (min(curve), max(curve)) == (1, 5000)
        assert all(loss == pytest.approx(1 / queries) for queries, loss in curve.items())


class TestFigures:
    def test_a_box_and_a_curve(self, finished_cell: FinishedCell) -> None:
        searches = finished_cell([0.25, 0.5, 0.75]).searches
        assert searches is not None
        drawn = cell_figures("a name with $money and_underscores^", searches, anytime_curve(searches))
        assert sorted(drawn) == ["figures/anytime.png", "figures/loss.png"]
        assert all(data.startswith(PNG) and len(data) < 40_000 for data in drawn.values())
        assert drawn == cell_figures("a name with $money and_underscores^", searches, anytime_curve(searches))

    def test_nothing_found_nothing_drawn(self, finished_cell: FinishedCell) -> None:
        searches = finished_cell([None, None]).searches
        assert searches is not None
        searches["anytime"] = [[], []]
        assert cell_figures("name", searches, anytime_curve(searches)) == {}


class TestNote:
    def test_the_command_is_one_that_cfbench_run_takes(self, finished_cell: FinishedCell) -> None:
        event = finished_cell([0.5] * 6, repetitions=2)
        info = replace(event.cell, searcher="cogs[population_size=50]", objective="k[m=4]", constraints=True, fold=3)
        content = {"query_budget": 5000, "time_limit": 2.5, "seed": 7, "respect_steps": True}
        words = shlex.split(command_again([info], content, points=3, repetitions=2))
        assert words[:2] == ["cfbench", "run"]
        options = run_command.make_context("run", words[2:]).params
        expected = {
            "datasets": ("credit",),
            "models": ("random-forest",),
            "searchers": ("cogs[population_size=50]",),
            "objectives": ("k[m=4]",),
            "constraints": "on",
            "folds": (3,),
            "points": "3",
            "repetitions": 2,
            "query_budget": "5000",
            "time_limit": "2.5",
            "seed": 7,
            "respect_steps": True,
            "results": Path("again"),
        }
        assert {name: options[name] for name in expected} == expected

    def test_the_note_counts_and_stays_in_its_block(self, finished_cell: FinishedCell) -> None:
        event = finished_cell([0.5, None])
        strange = replace(event, cell=replace(event.cell, dataset="a```\n# b"), eligible=20)
        note = cell_note(strange)
        assert "2 searches on 2 points of 20 in the fold, 1 found" in note
        assert note.count("```") == 2
        assert "\n# b" not in note


class TestFiles:
    def test_they_are_the_cell(self, finished_cell: FinishedCell) -> None:
        event = finished_cell()
        content = {"seed": 42, "dataset": {"name": "credit", "digest": "d" * 32}}
        event = replace(event, measures=_measures(event.cell.key), content=content, eligible=20)
        tables = CellTables.of(event)
        files = tables.files()
        about = json.loads(files["cell.json"])
        assert about["cell"] == asdict(event.cell)
        assert (about["content"], about["eligible"]) == (content, 20)
        assert {name: entry["bytes"] for name, entry in about["files"].items()} == {
            name: len(files[name]) for name in ("searches.parquet", "measures.parquet")
        }
        assert pq.read_table(io.BytesIO(files["measures.parquet"]))["value"].to_pylist() == [1.0, None]

    def test_without_measures_there_is_no_file_of_them(self, finished_cell: FinishedCell) -> None:
        assert sorted(CellTables.of(finished_cell()).files()) == ["cell.json", "searches.parquet"]

    def test_the_digest_sees_every_change(self, finished_cell: FinishedCell) -> None:
        event = finished_cell()
        assert event.searches is not None
        other = event.searches.assign(wall_seconds=np.nextafter(event.searches["wall_seconds"], 9))
        changes = [
            event,
            replace(event, eligible=3),
            replace(event, content={"seed": 1}),
            replace(event, measures=_measures(event.cell.key)),
            replace(event, searches=other),
        ]
        assert len({CellTables.of(change).digest() for change in changes}) == len(changes)


@pytest.mark.slow
def test_a_run_shows_all_of_it(store: Path, finished_cell: FinishedCell) -> None:
    from mlflow.tracking import MlflowClient

    event = finished_cell([0.5, 0.25])
    event = replace(event, content={"dataset": {"name": "credit", "digest": "d" * 32}})
    reporter = TrackingReporter()
    reporter.cfbench_run_started(RunStarted("quick", store.parent, f"sqlite:///{store}", (), 0, 0, 0, 1))
    reporter.cfbench_cell_finished(event)
    client: Any = MlflowClient(tracking_uri=f"sqlite:///{store}")
    (run,) = client.search_runs([client.get_experiment_by_name("quick").experiment_id])
    history = client.get_metric_history(run.info.run_id, "anytime_loss")
    assert [(metric.step, metric.value) for metric in history] == [(10, 1.0)]
    (dataset,) = run.inputs.dataset_inputs
    assert (dataset.dataset.name, dataset.dataset.digest) == ("credit", "d" * 32)
    assert "cfbench run --dataset credit" in run.data.tags["mlflow.note.content"]
    names = {artifact.path for artifact in client.list_artifacts(run.info.run_id)}
    assert names == {"cell.json", "searches.parquet", "figures"}

    # Another curve cannot take the place of one that is there: MLflow keeps every step.
    searches = event.searches
    assert searches is not None
    other: Any = searches.assign(anytime=pd.Series([[(5, 0.75)], [(7, 0.5)]]))
    reporter.cfbench_cell_finished(replace(event, searches=other))
    (again,) = client.search_runs([client.get_experiment_by_name("quick").experiment_id])
    history = client.get_metric_history(again.info.run_id, "anytime_loss")
    assert [(metric.step, metric.value) for metric in history] == [(7, 0.625)]
