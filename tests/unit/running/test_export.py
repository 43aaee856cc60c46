"""What is exported for other programs: files that can be read back, and models that give exactly the same classes."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cfbench import Dataset, FeatureSpace, FeatureSpec, Kind, SklearnFamily
from cfbench.cli import cli
from cfbench.models import ScikitModel
from cfbench.running.export import MODEL_FILES, content_of_model, drawn_anew, pipeline_of
from cfbench.running.search import FittedFold
from cfbench.space.dataset import Fold
from cfbench.space.space import FloatArray, IntArray
from tests.toys.studies import TOY

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 100),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 3, categories=("red", "green", "blue", "grey")),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98),
        FeatureSpec("smokes", Kind.CATEGORICAL, 0, 1, categories=("no", "yes")),
    )
)

_, (AS_SKOPS,), CLASSES_OF_SKOPS = MODEL_FILES["model.skops"]


def tree(seed: int) -> object:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=4, random_state=seed)


def logistic(seed: int) -> object:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(random_state=seed)


@pytest.fixture(params=[False, True], ids=["tree", "standardised logistic regression"])
def fitted_fold(request: pytest.FixtureRequest) -> FittedFold:
    """A model that has never seen the category grey."""
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [rng.uniform(0, 100, 80), rng.integers(0, 3, 80), rng.uniform(18, 98, 80), rng.integers(0, 2, 80)]
    )
    y = (X[:, 0] + 20 * (X[:, 1] == 2) > 60).astype(np.int64)
    family = SklearnFamily(logistic, standardise=True)() if request.param else SklearnFamily(tree)()
    model = family.fit(X[:60], y[:60], SPACE, {})
    dataset = Dataset("loans", X, y, SPACE, target=1, class_labels=("refused", "granted"))
    return FittedFold(dataset, Fold(np.arange(60), np.arange(60, 80)), model, model.oracle(), model.fingerprint(), None)


def test_the_pipeline_has_the_encoding_of_the_model(fitted_fold: FittedFold) -> None:
    model, X = fitted_fold.model, fitted_fold.dataset.X
    assert isinstance(model, ScikitModel)
    pipeline = pipeline_of(model, X[:60])
    rows = np.vstack([X, [[50.0, 3.0, 40.0, 1.0]]])
    assert np.array_equal(pipeline[0].transform(rows), model.encoding.transform(rows))
    assert np.array_equal(pipeline.predict(rows), model.predict(rows))


def test_a_file_with_the_same_classes_is_written(fitted_fold: FittedFold) -> None:
    content, why = content_of_model(fitted_fold, AS_SKOPS, CLASSES_OF_SKOPS)
    assert why == ""
    rows = drawn_anew(fitted_fold.dataset.X, SPACE)
    assert len(rows) == 400
    assert SPACE.is_feasible(rows, rows[0], constraints=False).all()
    assert np.array_equal(CLASSES_OF_SKOPS(content, rows), fitted_fold.model.predict(rows))


def test_a_file_with_other_classes_is_not_written(fitted_fold: FittedFold) -> None:
    def other(content: bytes, rows: FloatArray) -> IntArray:
        classes = CLASSES_OF_SKOPS(content, rows)
        classes[:3] = 1 - classes[:3]
        return classes

    content, why = content_of_model(fitted_fold, AS_SKOPS, other)
    assert (content, why) == (b"", "it gives other classes than the model on 3 of 480 rows")

    def broken(pipeline: object, d: int) -> bytes:
        raise RuntimeError("no converter")

    content, why = content_of_model(fitted_fold, broken, other)
    assert content == b""
    assert why.endswith("cannot be converted (RuntimeError: no converter)")


@pytest.mark.parametrize("bits", [64, 32])
def test_onnx_has_the_same_classes_or_names_the_package(fitted_fold: FittedFold, bits: int) -> None:
    """Of a tree, only the form with 32 bits can be run; the other one is refused with the reason."""
    _, writers, classes_of = MODEL_FILES["model.onnx"]
    if find_spec("skl2onnx") is None or find_spec("onnxruntime") is None:
        with pytest.raises(ModuleNotFoundError, match=r"skl2onnx|onnxruntime"):
            content_of_model(fitted_fold, writers[bits == 32], classes_of)
        return
    content, why = content_of_model(fitted_fold, writers[bits == 32], classes_of)
    model = fitted_fold.model
    assert isinstance(model, ScikitModel)
    is_tree = type(model.classifier).__name__ == "DecisionTreeClassifier"
    if is_tree and bits == 64:
        assert "DecisionTreeClassifier cannot be converted" in why
    elif is_tree or bits == 64:
        rows = drawn_anew(fitted_fold.dataset.X, SPACE)
        assert np.array_equal(classes_of(content, rows), model.predict(rows))


def test_the_points_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(cache))
    task = ["--dataset", "toy", "--model", "threshold", "--plugin", str(TOY)]
    result = CliRunner().invoke(cli, ["export", "points", *task, "--points", "3", "--output", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    assert set(files) == {"points.csv", "training.csv", "results.csv", "features.json"}
    assert "model.skops is not written: the model is not a scikit-learn classifier" in result.stderr
    template = CliRunner().invoke(cli, ["judge", "--example", *task, "--points", "3"])
    assert files["results.csv"] == template.stdout
    points = list(csv.DictReader(files["points.csv"].splitlines()))
    assert [point["row"] for point in points] == [line["row"] for line in csv.DictReader(template.stdout.splitlines())]
    training = list(csv.DictReader(files["training.csv"].splitlines()))
    assert len(training) == 48
    assert not {point["row"] for point in points} & {line["row"] for line in training}
    assert {line["class"] for line in training} == {"small", "large"}
    about = json.loads(files["features.json"])
    assert (about["target"], about["classes"]) == ("large", ["small", "large"])
    assert about["features"][0]["interval"] == [0, 20]
    assert about["features"][0]["constraint"] == ">="
    assert about["features"][2]["categories"] == ["red", "green", "blue"]


def test_only_the_user_knows_whether_rows_of_a_folder_may_be_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(cache))
    lines = [
        "a,b,c,class",
        *(f"{row / 4},{row % 7 / 7},{row % 11 / 11},{'yes' if row % 60 > 30 else 'no'}" for row in range(60)),
    ]
    (tmp_path / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    folder = str(tmp_path / "mine")
    made = ["datasets", "annotate", str(tmp_path / "table.csv"), "--label", "class", "--target", "yes"]
    assert CliRunner().invoke(cli, [*made, "--output", folder]).exit_code == 0
    task = ["--dataset", folder, "--model", "threshold", "--plugin", str(TOY), "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, ["export", "points", *task])
    assert result.exit_code == 0, result.output
    assert "you alone know whether the rows of mine may be passed on" in result.stderr
