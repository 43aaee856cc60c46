"""What was found as a frame: values worked out by hand, in units and labels, and nothing left out silently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cfbench
from cfbench import (
    Dataset,
    DatasetEntry,
    DataSource,
    FeatureSpace,
    FeatureSpec,
    Handles,
    Kind,
    NumericalPerturbation,
    Problem,
    SearcherEntry,
)
from cfbench.api import StudyResult
from cfbench.space import FloatArray
from tests.toys.studies import TOY

COLOURS = ("red", "green", "blue")
SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 20, unit="cm"),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98, perturbation=NumericalPerturbation(1, 1)),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=COLOURS),
    )
)
ROWS = np.array([[float(i % 20), 30.0 + i, float(i % 2)] for i in range(40)])
ALL = [Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES]


def load(source: DataSource) -> Dataset:
    """Make 40 red and green rows of sizes 0 to 19; the model's rule is size > 10, and 9.5 for blue ones."""
    return Dataset("shapes", ROWS, (ROWS[:, 0] > 10).astype(np.int64), SPACE, 1, ("small", "large"))


def paint(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Paint it blue: size 10 is large then. A size of 0 is given up."""
    return None if problem.x[0] == 0 else np.array([10.0, problem.x[1], 2.0])


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyResult:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    entries = [
        TOY,
        DatasetEntry(name="shapes", load=load, summary="made up"),
        SearcherEntry(name="blue", searcher=paint, handles=ALL),
    ]
    study = {
        "datasets": ["shapes"],
        "models": ["threshold"],
        "searchers": ["blue"],
        "metrics": ["gower", "k-robustness"],
    }
    return cfbench.run(
        study, plugins=entries, folds=[0], points=8, repetitions=2, tracking="none", results=tmp_path / "r"
    )


def test_each_result_has_a_row_per_feature_in_units_and_labels(result: StudyResult) -> None:
    searches = result.searches()
    found = searches[(searches["status"] == "found") & (searches["repetition"] == 0)]
    frame = result.counterfactuals()
    assert len(frame) == 3 * len(found) > 0
    for number, (_, search) in enumerate(found.iterrows()):
        size, age, colour = ROWS[search["row_id"]]
        own = frame.iloc[3 * number : 3 * number + 3]
        assert own[["feature", "factual", "counterfactual", "changed", "unit"]].to_numpy().tolist() == [
            ["size", size, 10.0, size != 10, "cm"],
            ["age", age, age, False, ""],
            ["colour", COLOURS[int(colour)], "blue", True, ""],
        ]
        gower = ((10 - size) / 20 + 0 + 1) / 3
        assert own["loss"].to_numpy() == pytest.approx(0.5 * gower + 0.5 * (1 + (size != 10)) / 3)
        assert set(own["row_id"]) == {search["row_id"]}
        assert own["k-robustness"].tolist() == [1.0] * 3  # the rule does not look at the age
    assert set(frame["target"]) == {"large"}
    assert set(frame["repetition"]) == {0}  # both repetitions are the same: the first counts
    assert "gower" not in frame


def test_any_measured_metric_can_be_a_column(result: StudyResult) -> None:
    frame = result.counterfactuals(["gower"], searchers=["blue"])
    sizes = frame[frame["feature"] == "size"]
    assert sizes["gower"].tolist() == pytest.approx([((10 - size) / 20 + 1) / 3 for size in sizes["factual"]])
    assert list(frame.columns[-2:]) == ["objective_value", "gower"]


def test_a_wide_table_is_a_pivot_away(result: StudyResult) -> None:
    wide = result.counterfactuals().pivot_table(
        index=["searcher", "row_id"], columns="feature", values="counterfactual", aggfunc="first"
    )
    assert set(wide["colour"]) == {"blue"}
    assert set(wide["size"]) == {10.0}


def test_what_is_not_at_hand_is_left_out_with_a_warning(result: StudyResult) -> None:
    with pytest.warns(UserWarning, match=r"counterfactuals left out: data set shapes is not at hand: .*shapes"):
        frame = cfbench.leaderboard(result.results, plugins=[TOY]).counterfactuals()
    assert frame.empty
    assert "counterfactual" in frame


def test_another_table_of_the_same_name_gives_no_labels(result: StudyResult) -> None:
    def other(source: DataSource) -> Dataset:
        return replace(load(source), X=ROWS + np.array([0.0, 1.0, 0.0]))

    with pytest.warns(UserWarning, match="data set shapes has another table or annotation here than in the record"):
        frame = cfbench.leaderboard(
            result.results, plugins=[TOY, DatasetEntry(name="shapes", load=other, summary="moved")]
        ).counterfactuals()
    assert frame.empty
