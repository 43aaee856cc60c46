"""From a fitted pipeline to the encoding of its last step: how the classifier's columns follow from the features.

A pipeline whose steps only choose, scale and encode columns is an `Encoding`, whatever the order of its steps. So the
families of cfbench can read its classifier. What is read here is compared with the pipeline's own answers before it is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from cfbench.errors import UnavailableError
from cfbench.models.encoding import Encoding, OneHot
from cfbench.space.space import FeatureSpace, FloatArray


@dataclass(frozen=True, eq=False)
class StepColumn:
    """A column between two steps, as far as it follows from one feature.

    Parameters
    ----------
    feature : int
    cells : tuple or None
        What stands for each category code; None for numbers.
    mean, scale : float
        What is subtracted from a number, and what it is divided by then.
    """

    feature: int
    cells: tuple[Any, ...] | None = None
    mean: float = 0.0
    scale: float = 1.0

    def numbers(self) -> FloatArray:
        """Return what stands for each category code as numbers; raise UnavailableError if it is text."""
        try:
            return np.array(self.cells, dtype=np.float64)
        except (TypeError, ValueError):
            raise UnavailableError("a column of text reaches a step that takes numbers") from None


def last_step(estimator: Any) -> tuple[list[Any], Any]:
    """Return the steps before the classifier, and the classifier."""
    while hasattr(estimator, "best_estimator_"):  # a search's predict is that of its winner
        estimator = estimator.best_estimator_
    steps = getattr(estimator, "steps", None)
    if steps is None:
        return [], estimator
    inside, classifier = last_step(steps[-1][1])
    return [step for _, step in steps[:-1] if step not in (None, "passthrough")] + inside, classifier


def read_steps(
    steps: Iterable[Any], space: FeatureSpace, columns: Sequence[str], cells: Sequence[Any]
) -> tuple[Encoding, dict[int, FloatArray]]:
    """Read the fitted steps before a classifier.

    Parameters
    ----------
    steps : iterable
    space : FeatureSpace
    columns : sequence of str
        The features that the first step takes, in its order.
    cells : sequence
        By column: what stands for each category code; None for numbers, and for categories that are given as codes.

    Returns
    -------
    encoding : Encoding
        How the classifier's columns follow from the features, recoded.
    recoded : dict of int to ndarray
        By feature: the number that replaces each category code before the encoding.

    Raises
    ------
    UnavailableError
        If a step does something else than choosing, scaling and encoding columns; the message names it.
    """
    first = []
    for name, given in zip(columns, cells, strict=True):
        feature = space.names.index(name)
        codes = range(space.n_categories[feature]) if given is None else given
        first.append(StepColumn(feature, tuple(codes) if space.is_categorical[feature] else None))
    return _encoding_of(_through_all(steps, first, columns), space)


def _through_all(steps: Iterable[Any], columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:
    """Return the columns after several steps; only the first one sees names."""
    for step in steps:
        columns, names = _through(step, columns, names), None
    return columns


def _through(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:
    """Return the columns after a step."""
    kind = type(step).__name__
    if step == "passthrough" or (kind == "FunctionTransformer" and step.func is None):
        return columns
    if step == "drop":
        return []
    if type(step).__module__.partition(".")[0] != "sklearn" or kind not in _READ:
        raise UnavailableError(f"its step {kind} is not read")
    return _READ[kind](step, columns, names)


def _pipeline(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:
    return _through_all([inside for _, inside in step.steps if inside is not None], columns, names)


def _column_transformer(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:
    after: list[StepColumn] = []
    for _, inside, chosen in step.transformers_:
        some = _positions(chosen, names, len(columns))
        own = [columns[i] for i in some]
        after += _through(inside, own, None if names is None else [names[i] for i in some])
    return after


def _positions(chosen: Any, names: Sequence[str] | None, n: int) -> list[int]:
    """Return the positions of columns that a column transformer names, by name, position, slice or mask."""
    if isinstance(chosen, (str, int)):
        chosen = [chosen]
    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):
            raise UnavailableError("a column transformer chooses columns by a range of names")
        return list(range(n))[chosen]
    listed = np.asarray(chosen).tolist()
    if listed and isinstance(listed[0], bool):
        return [i for i, one in enumerate(listed) if one]
    if not all(isinstance(one, int) or (names is not None and one in names) for one in listed):
        raise UnavailableError("a column transformer chooses columns by the names of an earlier step")
    return [range(n)[one] if isinstance(one, int) else list(names or ()).index(one) for one in listed]


def _scaler(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:  # noqa: ARG001
    """Standard, robust and maximum scalers subtract and divide, in this order."""
    mean = getattr(step, "mean_", None) if hasattr(step, "with_mean") else getattr(step, "center_", None)
    mean = np.zeros(len(columns)) if mean is None or getattr(step, "with_mean", True) is False else mean
    scale = np.ones(len(columns)) if step.scale_ is None else step.scale_
    after = []
    for column, a, b in zip(columns, mean.tolist(), scale.tolist(), strict=True):
        if column.cells is not None:
            after.append(replace(column, cells=tuple(((column.numbers() - a) / b).tolist())))
        elif (column.mean, column.scale) != (0.0, 1.0):
            raise UnavailableError("a column is scaled twice")
        else:
            after.append(replace(column, mean=a, scale=b))
    return after


def _imputer(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:  # noqa: ARG001
    """There are no missing values, so nothing is replaced."""
    statistics = np.asarray(step.statistics_)
    if step.add_indicator or pd.isna(statistics).any():
        raise UnavailableError("an imputer adds or drops columns")
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise UnavailableError(f"an imputer takes {step.missing_values!r} for a missing value")
    return columns


def _ordinal(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:  # noqa: ARG001
    if getattr(step, "max_categories", None) is not None or getattr(step, "min_frequency", None) is not None:
        raise UnavailableError("an encoder joins infrequent categories")
    after = []
    for column, known in zip(columns, step.categories_, strict=True):
        numbers = {cell: float(i) for i, cell in enumerate(known.tolist())}
        if column.cells is None or not all(cell in numbers for cell in column.cells):
            raise UnavailableError("an ordinal encoder meets numbers, or categories that it does not know")
        after.append(replace(column, cells=tuple(numbers[cell] for cell in column.cells)))
    return after


def _one_hot(step: Any, columns: list[StepColumn], names: Sequence[str] | None) -> list[StepColumn]:  # noqa: ARG001
    if getattr(step, "max_categories", None) is not None or getattr(step, "min_frequency", None) is not None:
        raise UnavailableError("an encoder joins infrequent categories")
    dropped = [None] * len(columns) if step.drop_idx_ is None else list(step.drop_idx_)
    after = []
    for column, known, left_out in zip(columns, step.categories_, dropped, strict=True):
        if column.cells is None:
            raise UnavailableError("a one-hot encoder meets numbers")
        if step.handle_unknown == "error" and not {*column.cells} <= {*known.tolist()}:
            raise UnavailableError("a one-hot encoder refuses categories that it does not know")
        after += [
            replace(column, cells=tuple(float(cell == one) for cell in column.cells))
            for i, one in enumerate(known.tolist())
            if i != left_out
        ]
    return after


_READ: dict[str, Callable[[Any, list[StepColumn], Sequence[str] | None], list[StepColumn]]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "StandardScaler": _scaler,
    "RobustScaler": _scaler,
    "MaxAbsScaler": _scaler,
    "SimpleImputer": _imputer,
    "OrdinalEncoder": _ordinal,
    "OneHotEncoder": _one_hot,
}


def _encoding_of(columns: list[StepColumn], space: FeatureSpace) -> tuple[Encoding, dict[int, FloatArray]]:
    """Return columns as an encoding, and the numbers that replace the codes of features before it."""
    places: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        places.setdefault(column.feature, []).append(place)
    copied, one_hot, recoded = [], [], {}
    for feature in range(space.d):
        own = places.get(feature, [])
        k = int(space.n_categories[feature])
        if not own:  # no column looks at it
            one_hot.append(OneHot(feature, len(columns), np.zeros((k + 1, 0))))
        elif not space.is_categorical[feature]:
            if len(own) > 1:
                raise UnavailableError("a number comes to several columns")
            copied.append(feature)
        else:
            table = np.stack([columns[place].numbers() for place in own], axis=1)
            is_one = len(own) == 1 and sorted(table[:, 0].tolist()) == [0.0] * (k - 1) + [1.0]  # one category's column
            if len(own) == 1 and ((table[:, 0] == np.arange(k)).all() or not is_one):
                copied.append(feature)
                if (table[:, 0] != np.arange(k)).any():
                    recoded[feature] = table[:, 0]
                continue
            if own != list(range(own[0], own[0] + len(own))):
                raise UnavailableError("the columns of a category do not follow each other")
            if not np.isin(table, (0.0, 1.0)).all() or (table.sum(axis=1) > 1).any():
                raise UnavailableError("the columns of a category are no indicators")
            one_hot.append(OneHot(feature, own[0], np.vstack([table, np.zeros(len(own))])))
    first = [places[feature][0] for feature in copied]
    mean = np.array([columns[place].mean for place in first])
    scale = np.array([columns[place].scale for place in first])
    scaled = bool((mean != 0).any() or (scale != 1).any())
    encoding = Encoding(
        len(columns),
        np.array(copied, dtype=np.int64),
        np.array(first, dtype=np.int64),
        tuple(one_hot),
        mean if scaled else None,
        scale if scaled else None,
    )
    return encoding, recoded


def plain_encoding(n_columns: int) -> Encoding:
    """Return the encoding of rows that are the columns of a classifier already."""
    all_columns = np.arange(n_columns, dtype=np.int64)
    return Encoding(n_columns, all_columns, all_columns, ())
