"""What another program needs to search on a fold: its points, its training rows, its features and its model.

A model is written only if the file gives exactly the classes of the model: on all rows of the data set, and on rows
with features drawn anew. Otherwise the reason is returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np

from cfbench.files import make_directory, write_atomically
from cfbench.models.scikit_model import ScikitModel
from cfbench.problem.oracle import random_rows
from cfbench.running.results_file import ROW, as_csv, as_texts, template
from cfbench.running.search import FittedFold
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FloatArray, IntArray
from cfbench.study.plan import Cell

COPIES = 5
"""Rows with features drawn anew that a written model is compared on, for each row of the data set."""
OPSET = {"": 17, "ai.onnx.ml": 3}
"""Versions of ONNX's operators: those that most run times know, and the first with trees in float64."""

Writer = Callable[[Any, int], bytes]
"""Returns a file's content, from a pipeline and the number of features."""
Reader = Callable[[bytes, FloatArray], IntArray]
"""Returns the classes that a file gives to rows."""


def export_points(cell: Cell, fitted_fold: FittedFold, eligible: IntArray, folder: Path) -> list[str]:
    """Write points, training rows, features and model of a cell to a folder; return a sentence for what is not there.

    Raises OSError if the folder cannot be written.
    """
    dataset = fitted_fold.dataset
    make_directory(folder)
    files = {
        "points.csv": _table(dataset, eligible),
        "training.csv": _table(dataset, fitted_fold.fold.train, with_class=True),
        "results.csv": template(dataset.space, dataset.X, eligible, long=False),
        "features.json": json.dumps(_about(cell, fitted_fold), indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in files.items():
        write_atomically(folder / name, text.encode("utf-8"))
    missing = []
    for name, (package, writers, classes_of) in MODEL_FILES.items():
        (folder / name).unlink(missing_ok=True)  # of another model
        content, why = b"", ""
        for written in writers:
            try:
                content, why = content_of_model(fitted_fold, written, classes_of)
            except ModuleNotFoundError as error:
                why = (
                    f'it needs the package {error.name}; install it with: pip install "counterfactual-bench[{package}]"'
                )
            if content:
                write_atomically(folder / name, content)
                break
        else:
            missing.append(f"{name} is not written: {why}")
    return missing


def _table(dataset: Dataset, rows: IntArray, *, with_class: bool = False) -> str:
    name = "class"
    while name in dataset.space.names:
        name += "_"
    lines = [[ROW, *dataset.space.names, *([name] if with_class else [])]]
    for row in rows.tolist():
        label = [dataset.class_labels[dataset.y[row]]] if with_class else []
        lines.append([str(row), *as_texts(dataset.X[row], dataset.space), *label])
    return as_csv(lines)


def _about(cell: Cell, fitted_fold: FittedFold) -> dict[str, Any]:
    """Return what the columns mean, as JSON holds it."""
    dataset = fitted_fold.dataset
    return {
        "dataset": cell.dataset,
        "digest": dataset.digest,
        "fold": cell.fold,
        "seed": cell.seed,
        "model": cell.model.label,
        "fingerprint": fitted_fold.fingerprint,
        "classes": list(dataset.class_labels),
        "target": dataset.class_labels[dataset.target],
        "features": [
            {
                "name": feature.name,
                "kind": feature.kind.value,
                "interval": None if feature.categories else [feature.lower, feature.upper],
                "categories": list(feature.categories),
                "constraint": feature.constraint.value,
                "step": feature.step,
                "unit": feature.unit,
                "description": feature.description,
            }
            for feature in dataset.space.features
        ],
        "relations": [relation.text for relation in dataset.space.relations],
        "model_input": "a row of numbers, one per feature in this order: numbers in raw units, categories as their "
        "positions in `categories`, from 0; the model returns the position in `classes`",
    }


# ---------------------------------------------------------------- the model


def content_of_model(fitted_fold: FittedFold, written: Writer, classes_of: Reader) -> tuple[bytes, str]:
    """Return a file with a fold's model, or why there is none.

    Raises ModuleNotFoundError if a package is missing that writes or reads the file.
    """
    model, dataset = fitted_fold.model, fitted_fold.dataset
    if not isinstance(model, ScikitModel):
        return b"", "the model is not a scikit-learn classifier behind cfbench's encoding"
    rows = np.vstack([dataset.X, drawn_anew(dataset.X, dataset.space)])
    expected = model.predict(rows)
    try:
        content = written(pipeline_of(model, dataset.X[fitted_fold.fold.train]), dataset.space.d)
        classes = classes_of(content, rows)
    except ModuleNotFoundError:
        raise
    except Exception as error:  # converters raise errors of many kinds for what they do not know
        return b"", f"{type(model.classifier).__name__} cannot be converted ({type(error).__name__}: {error!s:.200})"
    wrong = int((np.asarray(classes) != expected).sum())
    if wrong:
        return b"", f"it gives other classes than the model on {wrong:,} of {len(rows):,} rows"
    return content, ""


def drawn_anew(X: FloatArray, space: FeatureSpace) -> FloatArray:
    """Return copies of rows, shape (COPIES n, d), in each of which about half of the features have random values."""
    rng = np.random.default_rng(0)
    Z = np.tile(X, (COPIES, 1))
    drawn = random_rows(space, len(Z), rng)
    return np.where(rng.random(Z.shape) < 0.5, drawn, Z)


def pipeline_of(model: ScikitModel, X: FloatArray) -> Any:
    """Return a scikit-learn pipeline of a model's encoding and its classifier; `X` are its training rows."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encoding = model.encoding
    steps: dict[int, Any] = {
        part.feature: OneHotEncoder(handle_unknown="ignore", sparse_output=False) for part in encoding.one_hot
    }
    if encoding.mean is not None and encoding.scale is not None:
        steps |= {int(feature): StandardScaler() for feature in encoding.copied}
    columns = ColumnTransformer(
        [(str(i), steps.get(i, "passthrough"), [i]) for i in range(X.shape[1])], sparse_threshold=0
    )
    columns.fit(X)
    if encoding.mean is not None and encoding.scale is not None:
        # A mean over one column can have other last bits than over many: the numbers are those of the encoding.
        for feature, mean, scale in zip(encoding.copied, encoding.mean, encoding.scale, strict=True):
            scaler = columns.named_transformers_[str(feature)]
            scaler.mean_, scaler.scale_ = np.array([mean]), np.array([scale])
    return make_pipeline(columns, model.classifier)


def _as_skops(pipeline: Any, d: int) -> bytes:  # noqa: ARG001 - the form of a Writer
    import skops.io  # an extra

    content: bytes = skops.io.dumps(pipeline, compression=ZIP_DEFLATED)
    return content


def _classes_of_skops(content: bytes, rows: FloatArray) -> IntArray:
    import skops.io  # an extra

    trusted = skops.io.get_untrusted_types(data=content)  # the file was written in this process
    return np.asarray(skops.io.loads(content, trusted=trusted).predict(rows)).astype(np.int64)


def _as_onnx(pipeline: Any, d: int, *, bits: int) -> bytes:
    import skl2onnx  # an extra
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if bits == 64 else FloatTensorType
    converted = skl2onnx.to_onnx(
        pipeline, initial_types=[("X", kind([None, d]))], options={"zipmap": False}, target_opset=OPSET
    )
    content: bytes = converted.SerializeToString()
    return content


def _classes_of_onnx(content: bytes, rows: FloatArray) -> IntArray:
    import onnxruntime  # an extra

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    is_double = session.get_inputs()[0].type == "tensor(double)"
    answer = session.run(None, {"X": rows.astype(np.float64 if is_double else np.float32)})[0]
    return np.asarray(answer).astype(np.int64)


MODEL_FILES: dict[str, tuple[str, tuple[Writer, ...], Reader]] = {
    "model.skops": ("skops", (_as_skops,), _classes_of_skops),
    # Trees round their inputs to 32 bits; most other classifiers compute with 64.
    "model.onnx": ("onnx", (partial(_as_onnx, bits=64), partial(_as_onnx, bits=32)), _classes_of_onnx),
}
"""Files of a model: the extra that they need, the ways to write them (the first exact one counts), the reader."""
