"""What is logged of a cell."""

from __future__ import annotations

import io
import json
import math
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cfbench.cli.run import command as run_command
from cfbench.record import MEASURE_SCHEMA
from cfbench.record.frames import search_frame
from cfbench.record.schema import checked_rows
from cfbench.registry import CellInfo
from cfbench.tracking import command_again
from cfbench_reporters.cell_files import CellTables, search_table
from cfbench_reporters.cell_run import MOST_STEPS, anytime_curve, cell_note, cell_run, mlflow_name
from cfbench_reporters.figures import cell_figures
from tests.cells import finished_cell
from tests.plugins.tracked import begun_reporter, runs_of


class TestCellRun:
    def test_metrics_against_numbers_worked_out_by_hand(self) -> None:
        # Three points, two repetitions: point 0 found twice (the second has the better objective), point 1 once,
        # point 2 never.
        event = finished_cell(
            [0.2, 0.4, None, 0.6, None, None],
            repetitions=2,
            objective_values=[0.9, 0.5, None, 0.6, None, None],
            statuses=["found", "found", "timed_out", "found", "crashed", "not_found"],
        )
        assert cell_run(event).metrics == {
            "searches": 6,
            "points": 3,
            "found": 3,
            "points_found": 2,
            "success_rate": 0.5,
            "point_success_rate": pytest.approx(2 / 3),
            "failures": 2,
            "loss_mean": pytest.approx(0.5),  # of 0.4 and 0.6
            "loss_median": pytest.approx(0.5),
            "seconds": pytest.approx((0.5 + 1 + 1.5 + 2 + 2.5 + 3) / 6),
            "queries": 350.0,
            "robustness_queries": 0.0,
        }

    def test_nothing_found_leaves_no_nan(self) -> None:
        metrics = cell_run(finished_cell([None, None])).metrics
        assert metrics["success_rate"] == 0
        assert "loss_mean" not in metrics
        assert all(math.isfinite(value) for value in metrics.values())

    def test_means_of_measured_metrics_under_names_that_mlflow_takes(self) -> None:
        measures = pd.DataFrame(
            {
                "metric": ["sparsity", "sparsity", "k-score[m=32]", "k-score[m=32]", "never", "infinite"],
                "point": [0, 1, 0, 1, 0, 0],
                "repetition": 0,
                "value": [1.0, 2.0, 0.5, float("nan"), float("nan"), float("inf")],
            }
        )
        metrics = cell_run(finished_cell(measures=measures)).metrics
        assert metrics["mean/sparsity"] == 1.5
        assert metrics["mean/k-score_m_32"] == 0.5  # over the one search that has a value
        assert not any("never" in name or "infinite" in name for name in metrics)

    def test_labels_that_differ_in_forbidden_letters_stay_apart(self) -> None:
        measures = pd.DataFrame({"metric": ["a[b=é]", "a[b=è]"], "point": 0, "repetition": 0, "value": [1.0, 2.0]})
        metrics = cell_run(finished_cell(measures=measures)).metrics
        assert sorted(value for name, value in metrics.items() if name.startswith("mean/a_b")) == [1.0, 2.0]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("k[m=4]", "k_m_4"), ("a/b//../c", "a_b_.._c"), ("ünï", "n"), ("[]", "unnamed"), ("x" * 300, "x" * 200)],
    )
    def test_names(self, name: str, expected: str) -> None:
        assert mlflow_name(name) == expected

    def test_parameters_and_tags(self) -> None:
        info = CellInfo(
            "ab" * 16,
            "income",
            "neural-network",
            "k-d",
            "ck[m=4]",
            True,
            3,
            {"cogs": "2", "protocol": "1"},
            white_box=True,
        )
        run = cell_run(finished_cell(info=info))
        assert run.params == {
            "dataset": "income",
            "model": "neural-network",
            "searcher": "k-d",
            "objective": "ck[m=4]",
            "constraints": "on",
            "fold": "f3",
        }
        assert run.tags["cfbench.cell"] == info.key
        assert run.tags["cfbench.white_box"] == "true"
        assert run.tags["cfbench.version.protocol"] == "1"
        assert run.tags["cfbench.version.cogs"] == "2"
        assert run.tags["cfbench.model_fingerprint"] == "f" * 32


def test_the_artifact_holds_what_the_record_holds() -> None:
    searches = finished_cell().searches
    assert searches is not None
    answer = np.empty(1, dtype=object)
    answer[0] = np.array([float("nan"), float("inf")])  # no counterfactual, yet kept as it was
    searches.loc[[2], "z"] = answer
    table = search_table(searches)
    table.validate(full=True)
    rows = table.to_pylist()
    assert rows[1]["candidates"] == [[2.0, 0.1]]
    assert rows[1]["anytime"] == [{"queries": 10, "loss": 1.0}]
    assert rows[1]["figures"] == [("bound", 0.125)]
    assert (rows[1]["l0"], rows[2]["l0"], rows[2]["loss"]) == (1, None, None)
    assert repr(rows[2]["z"]) == "[nan, inf]"
    pd.testing.assert_frame_equal(search_frame(checked_rows(table.to_pylist())), searches)


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
    def test_a_box_and_a_curve(self) -> None:
        searches = finished_cell([0.25, 0.5, 0.75]).searches
        assert searches is not None
        drawn = cell_figures("a name with $money and_underscores^", searches, anytime_curve(searches))
        assert sorted(drawn) == ["figures/anytime.png", "figures/loss.png"]
        assert all(data.startswith(PNG) and len(data) < 40_000 for data in drawn.values())
        assert drawn == cell_figures("a name with $money and_underscores^", searches, anytime_curve(searches))

    def test_nothing_found_nothing_drawn(self) -> None:
        searches = finished_cell([None, None]).searches
        assert searches is not None
        searches["anytime"] = [[], []]
        assert cell_figures("name", searches, anytime_curve(searches)) == {}


class TestNote:
    def test_the_command_is_one_that_cfbench_run_takes(self) -> None:
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

    def test_the_note_counts_and_stays_in_its_block(self) -> None:
        event = finished_cell([0.5, None])
        strange = replace(event, cell=replace(event.cell, dataset="a```\n# b"), eligible=20)
        note = cell_note(strange)
        assert "2 searches on 2 points of 20 in the fold, 1 found" in note
        assert note.count("```") == 2
        assert "\n# b" not in note


class TestFiles:
    def test_they_are_the_cell(self) -> None:
        event = finished_cell()
        content = {"seed": 42, "dataset": {"name": "credit", "digest": "d" * 32}}
        tables_read = event.searches, _measures(event.cell.key)
        event = replace(event, read_tables=lambda: tables_read, content=content, eligible=20)
        tables = CellTables.of(event)
        files = tables.files()
        about = json.loads(files["cell.json"])
        assert about["cell"] == asdict(event.cell)
        assert (about["content"], about["eligible"]) == (content, 20)
        assert {name: entry["bytes"] for name, entry in about["files"].items()} == {
            name: len(files[name]) for name in ("searches.parquet", "measures.parquet")
        }
        assert pq.read_table(io.BytesIO(files["measures.parquet"]))["value"].to_pylist() == [1.0, None]

    def test_without_measures_there_is_no_file_of_them(self) -> None:
        assert sorted(CellTables.of(finished_cell()).files()) == ["cell.json", "searches.parquet"]

    def test_the_digest_sees_every_change(self) -> None:
        event = finished_cell()
        assert event.searches is not None
        other = event.searches.assign(wall_seconds=np.nextafter(event.searches["wall_seconds"], 9))
        changes = [
            event,
            replace(event, eligible=3),
            replace(event, content={"seed": 1}),
            replace(event, read_tables=lambda: (event.searches, _measures(event.cell.key))),
            replace(event, read_tables=lambda: (other, event.measures)),
        ]
        assert len({CellTables.of(change).digest() for change in changes}) == len(changes)


@pytest.mark.slow
def test_a_run_shows_all_of_it(store: Path) -> None:
    from mlflow.tracking import MlflowClient

    event = finished_cell([0.5, 0.25])
    event = replace(event, content={"dataset": {"name": "credit", "digest": "d" * 32}})
    reporter = begun_reporter(f"sqlite:///{store}", store.parent)
    reporter.cfbench_cell_finished(event)
    client: Any = MlflowClient(tracking_uri=f"sqlite:///{store}")
    (run,) = runs_of(f"sqlite:///{store}")
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
    reporter.cfbench_cell_finished(replace(event, read_tables=lambda: (other, event.measures)))
    (again,) = runs_of(f"sqlite:///{store}")
    history = client.get_metric_history(again.info.run_id, "anytime_loss")
    assert [(metric.step, metric.value) for metric in history] == [(7, 0.625)]
