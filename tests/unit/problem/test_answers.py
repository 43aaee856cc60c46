"""What a fitted model may return: each fault is named in one sentence before the first search."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cfbench.errors import UnavailableError
from cfbench.problem.answers import METHODS, model_fault, order_fault
from cfbench.problem.oracle import Oracle
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind

SPACE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 100),))
X = np.arange(0.0, 100, 2)[:, np.newaxis]


class Above50:
    """A sound model of two classes."""

    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] > 50).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        high = Z[:, 0] / 100
        return np.column_stack([1 - high, high])

    def fingerprint(self) -> str:
        return "above 50"

    def oracle(self) -> Oracle:
        return self


def with_method(name: str, method: Callable[..., Any]) -> Above50:
    """Return a sound model except for one method, which receives the sound answer."""
    sound = getattr(Above50, name)
    wrong: Above50 = type("Wrong", (Above50,), {name: lambda self, *given: method(sound(self, *given))})()
    return wrong


def writing(model: Above50, Z: FloatArray) -> IntArray:
    classes = Above50.predict(model, Z)
    Z[0] = 3
    return classes


COUNTER = itertools.count()

FAULTS: dict[str, tuple[Any, str]] = {
    "no model": (None, "fit returned None; a fitted model needs the methods predict, predict_proba, fingerprint"),
    "no methods": (
        type("Plain", (), {"predict": Above50.predict, "fingerprint": Above50.fingerprint})(),
        "fit returned a Plain without predict_proba and oracle; a fitted model needs",
    ),
    "number for a fingerprint": (with_method("fingerprint", lambda _: 12), "fingerprint returned 12; it must return a"),
    "empty fingerprint": (with_method("fingerprint", lambda _: ""), "fingerprint returned ''; it must return a string"),
    "column of classes": (
        with_method("predict", lambda classes: classes[:, np.newaxis]),
        "predict returned for 150 rows int64 of shape (150, 1); it must return int64 of shape (150,): class codes",
    ),
    "list of classes": (
        with_method("predict", lambda classes: classes.tolist()),
        "predict returned for 150 rows list;",
    ),
    "too few classes": (with_method("predict", lambda classes: classes[:-1]), "predict returned for 150 rows int64 of"),
    "NaN for a class": (
        with_method("predict", lambda classes: np.where(classes == 1, np.nan, 0)),
        "predict returned for 150 rows float64 of shape (150,); it must return int64",
    ),
    "strings": (with_method("predict", lambda classes: classes.astype(str)), "predict returned for 150 rows <U21 of"),
    "unseen class": (
        with_method("predict", lambda classes: 7 * classes),
        "predict returned the class 7; the class codes are 0 to 1",
    ),
    "negative class": (with_method("predict", lambda classes: 2 * classes - 1), "predict returned the class -1; the"),
    "random classes": (
        with_method("predict", lambda classes: np.roll(classes, next(COUNTER))),
        "predict answers differ between two calls with the same 150 rows (",
    ),
    "too wide": (
        with_method("predict_proba", lambda shares: np.column_stack([shares, 0 * shares])),
        "predict_proba returned for 150 rows float64 of shape (150, 4); it must return float64 of shape (150, 2): one",
    ),
    "NaN for a probability": (
        with_method("predict_proba", lambda shares: np.where(shares > 0.9, np.nan, shares)),
        "predict_proba returned [nan, 0.",
    ),
    "percent": (with_method("predict_proba", lambda shares: 100 * shares), "predict_proba returned [100.0, 0.0] for a"),
    "columns reversed": (
        with_method("predict_proba", lambda shares: shares[:, ::-1].copy()),
        "predict_proba has its columns in another order than the class codes: the likeliest class is that of predict ",
    ),
    "writes its input": (
        type("Wrong", (Above50,), {"predict": writing})(),
        "predict or predict_proba changed the rows that it was given; copy them before you write",
    ),
    "no oracle": (with_method("oracle", lambda _: None), "oracle returned None; return the model itself (`return self"),
    "an oracle without methods": (with_method("oracle", lambda _: 3), "oracle returned a int without predict and"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named_with_what_came_and_what_is_allowed(fault: str) -> None:
    model, words = FAULTS[fault]
    assert model_fault(model, SPACE, X, 2).startswith(words)


def test_a_sound_model_has_no_fault() -> None:
    assert model_fault(Above50(), SPACE, X, 2) == ""
    assert model_fault(Above50(), SPACE, X[:1], 2) == ""
    assert set(METHODS) <= set(dir(Above50))


def test_a_model_whose_oracle_is_unavailable_is_sound() -> None:
    def refuse(_: object) -> None:
        raise UnavailableError("no such trees")

    assert model_fault(with_method("oracle", refuse), SPACE, X, 2) == ""


@pytest.mark.parametrize(
    ("likeliest", "order"),
    [
        ([0] * 50 + [1] * 30 + [2] * 20, None),
        ([0] * 45 + [1] * 5 + [0] * 5 + [1] * 25 + [2] * 20, None),  # probabilities that are calibrated apart
        ([0] * 50 + [2] * 30 + [1] * 20, [0, 2, 1]),
        ([1] * 50 + [2] * 30 + [0] * 20, [1, 2, 0]),
    ],
)
def test_the_order_of_columns_is_compared_with_the_classes(likeliest: list[int], order: list[int] | None) -> None:
    classes = np.repeat([0, 1, 2], [50, 30, 20])
    fault = order_fault(classes, np.eye(3)[likeliest])
    assert fault.endswith(f"with the columns {order}") if order else not fault


def test_order_fault_counts_a_class_among_the_likeliest_as_right() -> None:
    assert order_fault(np.ones(20, dtype=np.int64), np.full((20, 2), 0.5)) == ""
