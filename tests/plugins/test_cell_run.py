"""What is logged of a cell."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from cfbench.record.frames import search_frame
from cfbench.record.schema import checked_rows
from cfbench.registry import CellInfo
from cfbench_reporters.cell_files import search_table
from cfbench_reporters.cell_run import cell_run, mlflow_name
from tests.plugins.tracked import FinishedCell

KEY = "ab" * 16


class TestCellRun:
    def test_metrics_against_numbers_worked_out_by_hand(self, finished_cell: FinishedCell) -> None:
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

    def test_nothing_found_leaves_no_nan(self, finished_cell: FinishedCell) -> None:
        metrics = cell_run(finished_cell([None, None])).metrics
        assert metrics["success_rate"] == 0
        assert "loss_mean" not in metrics
        assert all(math.isfinite(value) for value in metrics.values())

    def test_means_of_measured_metrics_under_names_that_mlflow_takes(self, finished_cell: FinishedCell) -> None:
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

    def test_labels_that_differ_in_forbidden_letters_stay_apart(self, finished_cell: FinishedCell) -> None:
        measures = pd.DataFrame({"metric": ["a[b=é]", "a[b=è]"], "point": 0, "repetition": 0, "value": [1.0, 2.0]})
        metrics = cell_run(finished_cell(measures=measures)).metrics
        assert sorted(value for name, value in metrics.items() if name.startswith("mean/a_b")) == [1.0, 2.0]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("k[m=4]", "k_m_4"), ("a/b//../c", "a_b_.._c"), ("ünï", "n"), ("[]", "unnamed"), ("x" * 300, "x" * 200)],
    )
    def test_names(self, name: str, expected: str) -> None:
        assert mlflow_name(name) == expected

    def test_parameters_and_tags(self, finished_cell: FinishedCell) -> None:
        info = CellInfo(
            KEY,
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
        assert run.tags["cfbench.cell"] == KEY
        assert run.tags["cfbench.white_box"] == "true"
        assert run.tags["cfbench.version.protocol"] == "1"
        assert run.tags["cfbench.version.cogs"] == "2"
        assert run.tags["cfbench.model_fingerprint"] == "f" * 32


def test_the_artifact_holds_what_the_record_holds(finished_cell: FinishedCell) -> None:
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
