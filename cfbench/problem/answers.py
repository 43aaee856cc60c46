"""The form of a fitted model's answers: what a plugin's model may return, checked before the first search.

Each function returns one sentence about the first fault: the method, what it returned, and what is allowed. The
sentence is empty if there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cfbench.errors import UnavailableError
from cfbench.problem.oracle import Oracle, random_rows
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

METHODS = ("predict", "predict_proba", "fingerprint", "oracle")
"""What every fitted model has."""

ROWS = 100
"""Training rows, and random rows, that the check of a model queries."""

SWAPPED = 0.1
"""Share of rows by which another order of the probabilities' columns must fit the classes better to be a fault."""


def _call(method: str, call: Callable[[], Any]) -> Any:  # noqa: ARG001 - for those that name it
    return call()


def model_fault(
    model: object,
    space: FeatureSpace,
    X: FloatArray,
    n_classes: int,
    call: Callable[[str, Callable[[], Any]], Any] = _call,
) -> str:
    """Say what is wrong with a fitted model; `X` are training rows. It costs three queries of 200 rows.

    `call` receives the name of a method and a call of it, and may raise another error for what that raises.
    """
    fault = methods_fault(model)
    if fault:
        return fault
    fitted: Any = model
    some = X[np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(np.int64)]
    rows = np.concatenate([some, random_rows(space, ROWS, np.random.default_rng(0))])
    given, n = rows.copy(), len(rows)
    fault = fingerprint_fault(call("fingerprint", fitted.fingerprint))
    if fault:
        return fault
    classes = call("predict", lambda: fitted.predict(given))
    fault = classes_fault(classes, n, n_classes)
    if fault:
        return fault
    again = call("predict", lambda: fitted.predict(given))
    if np.array_equal(given, rows) and not np.array_equal(classes, again):
        return repeated_fault("predict", classes, again)
    shares = call("predict_proba", lambda: fitted.predict_proba(given))
    if not np.array_equal(given, rows):
        return "predict or predict_proba changed the rows that it was given; copy them before you write"
    fault = shares_fault(shares, n, n_classes)
    return fault or order_fault(classes, shares) or call("oracle", lambda: oracle_fault(fitted))


def methods_fault(model: object) -> str:
    """Say which method a fitted model lacks."""
    missing = [name for name in METHODS if not callable(getattr(model, name, None))]
    if not missing:
        return ""
    received = "None" if model is None else f"a {type(model).__name__} without {' and '.join(missing)}"
    return f"fit returned {received}; a fitted model needs the methods {', '.join(METHODS)}"


def fingerprint_fault(fingerprint: object) -> str:
    """Say what is wrong with a model's fingerprint."""
    if isinstance(fingerprint, str) and fingerprint:
        return ""
    return (
        f"fingerprint returned {fingerprint!r}; it must return a string that is not empty, such as a digest of "
        "what the model learned"
    )


def classes_fault(answer: object, n: int, n_classes: int) -> str:
    """Say what is wrong with what `predict` returned for `n` rows."""
    fault = _form_fault("predict", answer, np.dtype(np.int64), (n,), "class codes")
    if fault:
        return fault
    assert isinstance(answer, np.ndarray)
    unknown = answer[(answer < 0) | (answer >= n_classes)]
    if len(unknown):
        return f"predict returned the class {int(unknown[0])}; the class codes are 0 to {n_classes - 1}"
    return ""


def shares_fault(answer: object, n: int, n_classes: int) -> str:
    """Say what is wrong with what `predict_proba` returned for `n` rows."""
    form = "one column per class code"
    fault = _form_fault("predict_proba", answer, np.dtype(np.float64), (n, n_classes), form)
    if fault:
        return fault
    assert isinstance(answer, np.ndarray)
    wrong = ~((answer >= 0).all(axis=1) & np.isclose(answer.sum(axis=1), 1))  # True for NaN
    if wrong.any():
        row = answer[np.flatnonzero(wrong)[0]].tolist()
        return f"predict_proba returned {row} for a row; probabilities must be at least 0 and add up to 1"
    return ""


def repeated_fault(method: str, first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> str:
    """Describe two different answers to one query."""
    second = np.asarray(second)
    differ = second != first if second.shape == first.shape else np.ones(first.shape, dtype=bool)
    rows = int(np.any(differ.reshape(len(first), -1), axis=1).sum())
    return f"{method} answers differ between two calls with the same {len(first)} rows ({rows} rows); fix every seed"


def order_fault(classes: IntArray, shares: FloatArray) -> str:
    """Say whether the columns of probabilities are in another order than the class codes."""
    from scipy.optimize import linear_sum_assignment

    n_classes = shares.shape[1]
    is_likeliest = shares[np.arange(len(classes)), classes] >= shares.max(axis=1)  # also in a tie
    likeliest = np.where(is_likeliest, classes, shares.argmax(axis=1))
    together = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(together, (classes, likeliest), 1)
    _, columns = linear_sum_assignment(together, maximize=True)
    own, best = np.trace(together), together[np.arange(n_classes), columns].sum()
    if best - own <= SWAPPED * len(classes) or best < (1 - SWAPPED) * len(classes):
        return ""
    return (
        f"predict_proba has its columns in another order than the class codes: the likeliest class is that of predict "
        f"for {own} of {len(classes)} rows, and for {best} with the columns {columns.tolist()}"
    )


def oracle_fault(model: Any) -> str:
    """Say what is wrong with what `oracle` returned."""
    try:
        oracle: object = model.oracle()
    except UnavailableError:
        return ""
    if isinstance(oracle, Oracle):
        return ""
    received = "None" if oracle is None else f"a {type(oracle).__name__} without predict and predict_proba"
    return f"oracle returned {received}; return the model itself (`return self`), or an object with both methods"


def _form_fault(method: str, answer: object, dtype: np.dtype[Any], shape: tuple[int, ...], what: str) -> str:
    if isinstance(answer, np.ndarray) and answer.dtype == dtype and answer.shape == shape:
        return ""
    received = f"{answer.dtype} of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
    return f"{method} returned for {shape[0]} rows {received}; it must return {dtype} of shape {shape}: {what}"
