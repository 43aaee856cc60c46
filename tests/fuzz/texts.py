"""Study files, annotations and tables as text: nearly right ones, and anything at all."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from cfbench import CfbenchError
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import Registry
from cfbench.study.plan import make_plan
from cfbench.study.study import read_study
from cfbench.tables.folder import load_folder

WORDS = ("toy", "threshold", "toy-dice", "none", "success", "cogs", "k[m=4]", "toy-dice[rows=8]", "toy-dice[rows=")
WORD = st.sampled_from(WORDS) | st.text(max_size=12)
NUMBER = st.integers(-3, 9) | st.sampled_from([10**30, 1e308, float("nan"), float("inf")]) | st.floats()
VALUE = st.recursive(
    st.booleans() | NUMBER | WORD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=3),
    max_leaves=6,
)


def toml(value: Any) -> str:
    """Write a value as TOML does within one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


@st.composite
def spoilt(draw: st.DrawFn, text: str) -> bytes:
    """Draw `text` with a few characters taken out, put in or doubled, or bytes of any kind."""
    data = text.encode()
    if not draw(st.integers(0, 9)):
        return draw(st.binary(max_size=300))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 8)))
        data = (
            data[:start]
            + draw(st.binary(max_size=4) | WORD.map(str.encode) | st.just(data[start:stop] * 2))
            + data[stop:]
        )
    return data


# ------------------------------------------------------------------ studies

STUDY = {
    "name": "mine",
    "datasets": ["toy"],
    "models": ["threshold"],
    "searchers": ["toy-dice", "toy-dice[rows=8]"],
    "objectives": ["none"],
    "metrics": ["success"],
    "constraints": [False, True],
    "folds": [0, 1],
    "points": 2,
    "repetitions": 1,
    "seed": 42,
    "time_limit": 1.5,
    "query_budget": 100,
    "respect_steps": True,
    "workers": 1,
    "results": "results",
    "tracking": "none",
    "settings": {"toy-dice": {"rows": 40}},
    "parts": [{"folds": [3]}],
    "at_most": {"toy-dice": {"points": 1}},
    "optional_datasets": ["toy"],
    "notes": ["a note"],
}


STUDY_TEXT = "".join(f"{key} = {toml(value)}\n" for key, value in STUDY.items())


@st.composite
def study_files(draw: st.DrawFn) -> bytes:
    """Draw a study file with a few keys of other values than ours."""
    study: dict[str, Any] = dict(STUDY)
    for key in draw(st.lists(st.sampled_from(sorted(STUDY)), max_size=3, unique=True)):
        study[key] = draw(VALUE)
    for key in draw(st.lists(st.sampled_from(sorted(STUDY)), max_size=2, unique=True)):
        study.pop(key)
    text = "".join(f"{key} = {toml(value)}\n" for key, value in study.items())
    return draw(spoilt(text)) if not draw(st.integers(0, 2)) else text.encode("utf-8", "surrogatepass")


def read_and_plan(file: Path, registry: Registry, source: DataSource) -> None:
    """Do with a study file what ``cfbench plan`` does."""
    with contextlib.suppress(CfbenchError):
        make_plan(read_study(file), registry, source)


# ------------------------------------------------------------------ data sets

LABEL = {"column": "approved", "classes": ["no", "yes"], "target": "yes", "meanings": ["refused", "granted"]}
FEATURES: list[dict[str, Any]] = [
    {
        "name": "income",
        "kind": "numerical",
        "interval": [0, 50],
        "constraint": ">=",
        "perturbation": {"decrease": 2.5, "increase": 1, "relative": False},
        "step": 1,
        "unit": "EUR",
    },
    {
        "name": "job",
        "kind": "categorical",
        "categories": ["none", "some"],
        "labels": ["no job", "a job"],
        "perturbation": {"categories": "all"},
    },
]
ROWS = ["income,job,id,approved", *(f"{i},{('none', 'some')[i % 2]},{i},{('no', 'yes')[i // 6]}" for i in range(12))]
TABLE = "\n".join([*ROWS, ""])


def annotation_text(label: Any, features: Any) -> str:
    return (
        f'title = "Credits"\nuser = "who asks"\nignore = ["id"]\nlabel = {toml(label)}\nfeatures = {toml(features)}\n'
    )


ANNOTATION = annotation_text(LABEL, FEATURES)


@st.composite
def annotation_files(draw: st.DrawFn) -> bytes:
    """Draw an annotation with a few keys of other values than ours."""
    label: Any = dict(LABEL)
    features: Any = [dict(feature) for feature in FEATURES]
    for _ in range(draw(st.integers(0, 3))):
        table = draw(st.sampled_from([label, *features]))
        key = draw(st.sampled_from(sorted(table)) | WORD)
        table[key] = draw(VALUE)
    if not draw(st.integers(0, 4)):
        features = draw(VALUE | st.just(features * 2))
    text = annotation_text(label, features)
    return draw(spoilt(text)) if not draw(st.integers(0, 2)) else text.encode("utf-8", "surrogatepass")


@st.composite
def csv_files(draw: st.DrawFn) -> bytes:
    """Draw a table with a few cells that are none of ours, or with other characters anywhere."""
    rows = [line.split(",") for line in ROWS]
    cell = st.sampled_from(["", "nan", "inf", "1e999", "-5", "0x10", "1_0", "=1+1", '"', "\x00", "٣"]) | st.text(
        max_size=8
    )
    for _ in range(draw(st.integers(0, 3))):
        row = rows[draw(st.integers(0, len(rows) - 1))]
        row[draw(st.integers(0, len(row) - 1))] = draw(cell)
    text = "\n".join(",".join(row) for row in rows)
    return draw(spoilt(text)) if draw(st.booleans()) else text.encode("utf-8", "surrogatepass")


def load(folder: Path) -> None:
    """Load a data set's folder, as every command does."""
    with contextlib.suppress(CfbenchError):
        load_folder(folder, "mine")
