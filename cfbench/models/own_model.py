"""A user's own fitted model behind cfbench's contract: how it takes rows, what its classes are, how it is queried."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, ModelError, UnavailableError
from cfbench.models.pipelines import last_step, plain_encoding, read_steps
from cfbench.models.sklearn_family import depends_on_the_query, near_a_tie
from cfbench.problem.answers import classes_fault, order_fault, repeated_fault, shares_fault
from cfbench.problem.oracle import (
    MemoOracle,
    NeighbourOracle,
    Oracle,
    objection,
    predict_neighbours,
    random_rows,
)
from cfbench.registry.contracts import FittedModel, ModelFamily
from cfbench.registry.endpoint import Endpoint
from cfbench.registry.entries import ModelEntry
from cfbench.registry.own_models import parts_of
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.dataset import Dataset, Spelling
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

SAMPLE = 500
"""Most rows of the table that are tried to find out how a model takes categories."""

SINGLE = 8
"""Rows that are queried one by one, to see whether a row's scores depend on the others."""

PROBES = 64
"""Rows whose classes are a part of the model's fingerprint."""

AS_CODES = "as codes, in the order of the annotation"

CHECKED = 100
"""Rows of the table, and random rows, that are queried twice before the first search."""


@dataclass(frozen=True, eq=False)
class RowForm:
    """How a model takes rows.

    Parameters
    ----------
    name : str
        For readers.
    space : FeatureSpace
    columns : tuple of str
        The features that the model takes, in its order.
    is_frame : bool
        Whether it takes a data frame, otherwise an array.
    values : tuple
        By column: what stands for each category code; None for numbers, and for categories that are given as codes.
    """

    name: str
    space: FeatureSpace
    columns: tuple[str, ...]
    is_frame: bool
    values: tuple[Any, ...]
    positions: IntArray = field(init=False)

    def __post_init__(self) -> None:
        positions = [self.space.names.index(name) for name in self.columns]
        object.__setattr__(self, "positions", np.array(positions, dtype=np.int64))

    def tidy(self, Z: FloatArray) -> FloatArray:
        """Return rows whose categories are codes. Decision: a value that is no code counts as the nearest one."""
        coded = self.space.is_categorical
        codes = Z[:, coded]
        nearest = np.clip(np.rint(codes), 0, self.space.n_categories[coded] - 1)
        if (nearest == codes).all():
            return Z
        Z = Z.copy()
        Z[:, coded] = nearest
        return Z

    def rows(self, Z: FloatArray) -> Any:
        """Return tidy rows, shape (n, d), as the model takes them; a data frame is built in one go."""
        columns = Z[:, self.positions]
        if all(value is None for value in self.values):
            return pd.DataFrame(columns, columns=list(self.columns), copy=False) if self.is_frame else columns
        if not self.is_frame:
            for i, value in enumerate(self.values):
                if value is not None:
                    columns[:, i] = value[columns[:, i].astype(np.intp)]
            return columns
        cells = {
            name: columns[:, i] if value is None else value.take(columns[:, i].astype(np.intp))
            for i, (name, value) in enumerate(zip(self.columns, self.values, strict=True))
        }
        return pd.DataFrame(cells, copy=False)


def row_forms(estimator: Any, space: FeatureSpace, spelling: Spelling | None) -> list[RowForm]:
    """Return the forms in which an estimator may take rows, the likeliest first.

    Raises ModelError if it was fitted on columns that the space lacks.
    """
    names = getattr(estimator, "feature_names_in_", None)
    columns = space.names if names is None else tuple(str(name) for name in names)
    unknown = [name for name in columns if name not in space.names]
    if unknown:
        raise ModelError(
            f"the model was fitted on columns that are not annotated: {', '.join(map(repr, unknown))}; the features "
            f"are {', '.join(space.names)}. Fit the model on these, or annotate the columns"
        )
    if names is None and hasattr(estimator, "n_features_in_") and estimator.n_features_in_ != space.d:
        raise ModelError(
            f"the model was fitted on arrays of {estimator.n_features_in_} columns, and the data set has {space.d} "
            "features: fit it on a data frame, whose columns have names, or on all features"
        )
    features = [space.features[space.names.index(name)] for name in columns]
    labels = [feature.categories for feature in features]
    cells = labels if spelling is None else [spelling.categories[space.names.index(name)] for name in columns]
    as_read, as_text, as_labels = (
        [convert(one) if one else None for one in texts]
        for convert, texts in ((_as_read, cells), (_as_text, cells), (_as_text, labels))
    )
    as_categories = [pd.array(list(one), dtype=pd.CategoricalDtype(list(one))) if one else None for one in cells]
    frame, array = hasattr(estimator, "feature_names_in_"), hasattr(estimator, "n_features_in_")
    forms = []
    if frame or not array:
        ways: dict[str, list[Any]] = {
            "data frame, categories as in the table": as_read,
            "data frame, categories as text": as_text,
            "data frame, categories as pandas categories": as_categories,
            "data frame, categories by their labels": as_labels,
            "data frame, categories as codes": [None] * len(columns),
        }
        forms += [RowForm(name, space, columns, True, tuple(values)) for name, values in ways.items()]
    if array or not frame:
        numbers = [_numbers(value) for value in as_read]
        if all(value is not None or not one for value, one in zip(numbers, labels, strict=True)):
            forms.append(RowForm("array, categories as in the table", space, columns, False, tuple(numbers)))
        forms.append(RowForm("array, categories as codes", space, columns, False, (None,) * len(columns)))
    if not space.is_categorical.any():  # forms differ in categories only: one frame and one array are enough
        forms = list({form.is_frame: form for form in reversed(forms)}.values())[::-1]
    return forms[:1] if isinstance(estimator, Endpoint) else forms


def _as_read(cells: Sequence[str]) -> Any:
    """Return categories as `pandas.read_csv` reads a column of them: whole numbers, booleans, or text."""
    if all(_is_whole(cell) for cell in cells):
        return pd.array([int(cell) for cell in cells], dtype=np.int64).to_numpy()
    if {*cells} <= {"True", "False"}:
        return np.array([cell == "True" for cell in cells])
    return _as_text(cells)


def _as_text(cells: Sequence[str]) -> Any:
    return pd.array(list(cells), dtype="str")


def _is_whole(cell: str) -> bool:
    return cell.removeprefix("-").isdecimal() and str(int(cell)) == cell


def _numbers(values: Any) -> Any:
    """Return categories that are numbers as float64; None for others."""
    return values.astype(np.float64) if isinstance(values, np.ndarray) else None


def spelled(label: object) -> str:
    """Return a class as the table may write it: 1, 1.0 and "1" are the same."""
    if isinstance(label, np.generic):
        label = label.item()
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()


class Labels:
    """The class codes of a model's classes.

    Parameters
    ----------
    codes : dict of str to int
        By `spelled` class.
    how : str
        How they were matched, for readers.
    """

    def __init__(self, codes: dict[str, int], how: str) -> None:
        self.known, self.how = codes, how

    def codes(self, labels: Any) -> IntArray:
        """Return the codes of classes that the model returned; raise ModelError for an unknown one."""
        place, found = pd.factorize(np.ravel(np.asarray(labels)), use_na_sentinel=False)
        return np.array([self._code(label) for label in found], dtype=np.int64)[place]

    def _code(self, label: object) -> int:
        code = self.known.get(spelled(label))
        if code is None:
            raise ModelError(f"the model answered the class {spelled(label)!r}; known are {', '.join(self.known)}")
        return code


def labels_of(dataset: Dataset, estimator: Any, answers: Any) -> Labels:
    """Match an estimator's classes with those of a data set: as the table writes them, by their labels, or as codes.

    `answers` are its classes of some rows, for an estimator without `classes_`. Raises ModelError if none matches.
    """
    classes = getattr(estimator, "classes_", None)
    given = pd.unique(np.ravel(np.asarray(answers))) if classes is None else np.ravel(classes)
    found = [spelled(one) for one in given]
    written = dataset.class_labels if dataset.spelling is None else dataset.spelling.classes
    ways = {"as the table writes them": written, "by their labels": dataset.class_labels}
    for how, names in ways.items():
        if {*found} <= {*names}:
            return Labels({name: code for code, name in enumerate(names)}, how)
    numbers = [{"False": "0", "True": "1"}.get(name, name) for name in found]
    if {*numbers} <= {str(code) for code in range(dataset.n_classes)}:
        codes = {str(code): code for code in range(dataset.n_classes)}
        return Labels({**codes, "False": 0, "True": 1}, AS_CODES)
    raise ModelError(
        f"the model's classes are {', '.join(map(repr, found))}; those of the data set {dataset.name!r} are "
        f"{', '.join(map(repr, written))}. Fit the model on the label column as the table writes it"
    )


class OwnModel:
    """A fitted model that a user brings.

    Many estimators compute a row's scores with other last bits if other rows are in the query. Decision: the class of
    a row is the one that the estimator returns for that row alone.

    Parameters
    ----------
    estimator : object
        With `predict`, and perhaps `predict_proba`.
    form : RowForm
    labels : Labels
    n_classes : int
    X : ndarray of float64, shape (n, d)
        Rows like those that it will be queried with.
    version : str
    """

    def __init__(
        self, estimator: Any, form: RowForm, labels: Labels, n_classes: int, X: FloatArray, version: str = ""
    ) -> None:
        self.estimator = estimator
        self.form = form
        self.labels = labels
        self.n_classes = n_classes
        self.version = version
        self.has_probabilities = callable(getattr(estimator, "predict_proba", None))
        self.core: Core | None = None
        self.why_no_core = "no model of cfbench was looked for"
        self._scored = any(callable(getattr(estimator, name, None)) for name in ("decision_function", "predict_proba"))
        self._near_ties_alone = self._scored and depends_on_the_query(self._scores, X[:SINGLE])
        self.probes = X[np.linspace(0, len(X) - 1, min(len(X), PROBES)).astype(np.int64)].copy()
        self.probe_classes = self.predict(self.probes)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the estimator's classes as codes, int64, shape (n,)."""
        classes = self._classes(Z)
        if self._near_ties_alone and len(Z) > 1:
            doubtful = near_a_tie(self._scores(Z))
            classes[doubtful] = self.predict_alone(Z[doubtful])
        return classes

    def predict_alone(self, Z: FloatArray) -> IntArray:
        """Return the classes of rows, queried one by one."""
        return np.array([self._classes(z[np.newaxis])[0] for z in Z], dtype=np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the estimator's probabilities, shape (n, n_classes); UnavailableError if it has none."""
        if not self.has_probabilities:
            raise UnavailableError(f"the {type(self.estimator).__name__} has no predict_proba")
        probabilities = np.zeros((len(Z), self.n_classes))
        if len(Z) > 0:
            classes = getattr(self.estimator, "classes_", None)
            codes = np.arange(self.n_classes) if classes is None else self.labels.codes(classes)
            shares = np.asarray(self._answers(self.estimator.predict_proba, Z), dtype=np.float64)
            if shares.shape != (len(Z), len(codes)):
                raise ModelError(
                    f"predict_proba returned for {len(Z)} rows shape {shares.shape}, not {(len(Z), len(codes))}"
                )
            probabilities[:, codes] = shares
        return probabilities

    def fingerprint(self) -> str:
        """Return the digest of the model's version and of its classes of some rows."""
        return digest_of([self.version, self.probe_classes.tolist()])

    def oracle(self) -> Oracle:
        """Return the fast oracle if cfbench knows the estimator's last step, otherwise one that remembers answers."""
        if self.core is None:
            return self.memo()
        try:
            oracle = self.core.model.oracle()
        except UnavailableError as error:
            self.why_no_core = str(error)
            return self.memo()
        is_native = not self.core.steps and not self.core.recoded and isinstance(oracle, NeighbourOracle)
        return (NativeOracle if is_native else CoreOracle)(self, self.core, oracle)

    def adopt(self, families: Iterable[type[ModelFamily]], X: FloatArray) -> None:
        """Look for the family of the estimator's last step; `X` are rows like those that it will be queried with.

        The steps before it are read as an encoding. If they cannot be, the estimator's own steps make the columns,
        unless a row's columns depend on the other rows, if only in the last bit.
        """
        steps, classifier = last_step(self.estimator)
        if not hasattr(classifier, "classes_"):
            self.why_no_core = f"the last step, a {type(classifier).__name__}, has no classes_"
            return
        codes = self.labels.codes(classifier.classes_)
        form = self.form
        recoded: Mapping[int, FloatArray] = {}
        try:
            encoding, recoded = read_steps(steps, form.space, form.columns, form.values)
            steps = []
        except UnavailableError as error:
            self.why_no_core = str(error)
            if not steps:
                return

            def columns(Z: FloatArray) -> FloatArray:
                return transformed(steps, form.rows(form.tidy(Z)))

            if depends_on_the_query(columns, X[:SINGLE]):
                self.why_no_core += ", and a row's columns depend on the other rows of a query"
                return
            encoding = plain_encoding(columns(X[:1]).shape[1])
        try:
            around = (family.around(encoding, classifier, codes, self.n_classes) for family in families)
            model = next((one for one in around if one is not None), None)
        except Exception as error:  # whatever a family's reading raises: the estimator itself can answer
            self.why_no_core = f"{type(error).__name__}: {error}"
            return
        if model is None:
            self.why_no_core = f"no model of cfbench reads a {type(classifier).__name__}"
            return
        self.core, self.why_no_core = Core(model, steps, recoded), ""

    def memo(self) -> MemoOracle:
        """Return the oracle that remembers answers."""
        return MemoOracle(self, self.form.tidy, self.probes, self.probe_classes)

    def _classes(self, Z: FloatArray) -> IntArray:
        if len(Z) == 0:
            return np.empty(0, dtype=np.int64)
        answer = np.asarray(self._answers(self.estimator.predict, Z))
        if answer.size != len(Z):
            raise ModelError(f"for {len(Z)} rows the model returned shape {answer.shape}; one class per row is allowed")
        return self.labels.codes(answer.reshape(-1))

    def _scores(self, Z: FloatArray) -> FloatArray:
        decide = getattr(self.estimator, "decision_function", None) or self.estimator.predict_proba
        return np.asarray(self._answers(decide, Z), dtype=np.float64).reshape(len(Z), -1)

    def _answers(self, method: Callable[[Any], Any], Z: FloatArray) -> Any:
        try:
            return method(self.form.rows(self.form.tidy(Z)))
        except CfbenchError:
            raise
        except Exception as error:  # whatever a user's model raises
            what = " ".join(str(error).split())
            raise ModelError(f"the model raised {type(error).__name__}: {what}") from error


@dataclass(frozen=True, eq=False)
class Core:
    """The last step of an estimator as a model of cfbench, and what comes before it.

    Parameters
    ----------
    model : FittedModel
        The last step, over features or columns.
    steps : list
        The estimator's steps that make the columns; empty if the model's own encoding does.
    recoded : dict of int to ndarray
        By feature: the number that replaces each category code.
    """

    model: FittedModel
    steps: list[Any]
    recoded: Mapping[int, FloatArray]

    def columns_of(self, form: RowForm, Z: FloatArray) -> FloatArray:
        """Return what the model takes for tidy rows."""
        if self.steps:
            return transformed(self.steps, form.rows(Z))
        if self.recoded:
            Z = Z.copy()
            for feature, numbers in self.recoded.items():
                Z[:, feature] = numbers[Z[:, feature].astype(np.intp)]
        return Z


def transformed(steps: Iterable[Any], rows: Any) -> FloatArray:
    """Return what an estimator's own steps make of rows, as a dense array."""
    for step in steps:
        rows = step.transform(rows)
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.ascontiguousarray(dense, dtype=np.float64)


class CoreOracle:
    """The fast oracle of an own model: its last step is queried as a model of cfbench is."""

    def __init__(self, model: OwnModel, core: Core, oracle: Oracle) -> None:
        self._model, self._core, self._oracle = model, core, oracle

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`, shape (n, d)."""
        if len(Z) == 0:
            return np.empty(0, dtype=np.int64)
        form = self._model.form
        return self._oracle.predict(self._core.columns_of(form, form.tidy(Z)))

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the estimator's own probabilities, shape (n, n_classes)."""
        return self._model.predict_proba(Z)


class NativeOracle(CoreOracle):
    """The same where the last step is read over the features themselves."""

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the class codes of the K-neighbours of the rows of `Z`, shape (n, m)."""
        return predict_neighbours(self._oracle, self._model.form.tidy(Z), neighbours)


def own_model(
    estimator: Any,
    space: FeatureSpace,
    X: FloatArray,
    y: IntArray | None,
    match: Callable[[Any, Any], Labels],
    n_classes: int,
    *,
    spelling: Spelling | None = None,
    version: str = "",
    codes_first: bool = False,
) -> OwnModel:
    """Return the model of an estimator that was fitted elsewhere, checked as the models of plugins are.

    How it takes categories is tried: of the forms that it does not refuse, the one that agrees best with the labels
    `y` of the rows `X` is right. Without labels, it is the one whose categories its encoders know.

    Parameters
    ----------
    estimator : object
    space : FeatureSpace
    X : ndarray of float64, shape (n, d)
    y : ndarray of int64, shape (n,), or None
    match : callable
        Returns the `Labels`, given the estimator and some of its answers.
    n_classes : int
    spelling : Spelling or None
    version : str
    codes_first : bool
        Whether categories are given as codes where other forms are as likely.

    Raises
    ------
    ModelError
        If it cannot take the rows, has other classes, or does not answer as a model has to.
    UnavailableError
        If it is an endpoint that is down.
    """
    some = np.linspace(0, len(X) - 1, min(len(X), SAMPLE)).astype(np.int64)
    best: tuple[float, RowForm, Labels] | None = None
    refusals = []
    forms = row_forms(estimator, space, spelling)
    if codes_first:
        forms.sort(key=lambda form: any(value is not None for value in form.values))  # noqa: PD011 - not a frame
    for form in forms:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a library says of a form that is not the right one
                answers = estimator.predict(form.rows(X[some]))
        except CfbenchError:
            raise
        except Exception as error:  # whatever a user's model raises
            refusals.append(f"{form.name}: {type(error).__name__}: {' '.join(str(error).split())}")
            continue
        if np.size(answers) != len(some):
            raise ModelError(f"for {len(some)} rows the model returned shape {np.shape(answers)}, not ({len(some)},)")
        labels = match(estimator, answers)
        if y is None:
            likeness = _categories_known(estimator, form)
        else:
            likeness = float(np.mean(labels.codes(np.reshape(answers, -1)) == y[some]))
        if best is None or likeness > best[0]:
            best = likeness, form, labels
    if best is None:
        raise ModelError(f"the model refused the rows ({refusals[0]})")
    _, form, labels = best
    model = OwnModel(estimator, form, labels, n_classes, X, version)
    fault = _fault(model, space, X, y)
    if fault:
        raise ModelError(fault)
    return model


def of_dataset(
    entry: ModelEntry, dataset: Dataset, train: IntArray, families: Iterable[type[ModelFamily]] = ()
) -> OwnModel:
    """Return the model of an entry with a fitted estimator, for a data set; `train` are the rows that it is tried on.

    `families` are those that may know its last step.

    Raises ModelError or UnavailableError, as `own_model` does.
    """
    match = partial(labels_of, dataset)
    X, y, n_classes = dataset.X[train], dataset.y[train], dataset.n_classes
    try:
        model = own_model(
            entry.fitted, dataset.space, X, y, match, n_classes, spelling=dataset.spelling, version=entry.version
        )
    except ModelError as error:
        raise ModelError(f"model {entry.name!r}: {error}") from error
    model.adopt(families, X)
    return model


def findings(model: OwnModel, dataset: Dataset, train: IntArray) -> dict[str, str]:
    """Return what a reader should know of a model on a data set, by short names; its oracle is checked."""
    X = dataset.X[train]
    steps, last = last_step(model.estimator)
    agree = float(np.mean(model.predict(X) == dataset.y[train]))
    classes = getattr(model.estimator, "classes_", None)
    names = list(model.labels.known) if classes is None else [spelled(one) for one in np.ravel(classes)]
    oracle = model.oracle()
    fault = "" if isinstance(oracle, MemoOracle) else objection(oracle, model, dataset.space, X)
    if isinstance(oracle, MemoOracle) or fault:
        why = fault or model.why_no_core
        found = f"the model itself, in batches, equal rows once ({why})"
    else:
        where = "columns that the model's own steps make" if model.core and model.core.steps else "the features"
        found = f"fast, over {where}; the same classes as the model on training rows, random rows and boundaries"
    return {
        "model": " -> ".join(type(step).__name__ for step in [*steps, last]),
        "rows": f"{model.form.name}; {len(model.form.columns)} of {dataset.space.d} features",
        "classes": f"{', '.join(names)}: {model.labels.how}",
        "labels": f"it agrees with {agree:.1%} of {len(X):,} training rows",
        "probabilities": "yes" if model.has_probabilities else "no; searchers that need them are skipped",
        "oracle": found,
    }


def _categories_known(estimator: Any, form: RowForm) -> float:
    """Return how many of the categories that a form gives are known to the encoders of an estimator."""
    known = {spelled(one) for part in parts_of(estimator) for each in getattr(part, "categories_", ()) for one in each}
    counts = []
    for column, values in zip(form.columns, form.values, strict=True):
        feature = form.space.features[form.space.names.index(column)]
        given = range(feature.n_categories) if values is None else values
        counts += [spelled(one) in known for one in given]
    return float(np.mean(counts)) if counts else 0.0


def _fault(model: OwnModel, space: FeatureSpace, X: FloatArray, y: IntArray | None) -> str:
    """Say what is wrong with a model's answers: their form, their classes, whether they are the same twice."""
    some = X[np.linspace(0, len(X) - 1, min(len(X), CHECKED)).astype(np.int64)]
    rows = np.concatenate([some, random_rows(space, CHECKED, np.random.default_rng(0))])
    classes, again = model.predict(rows), model.predict(rows)
    fault = classes_fault(classes, len(rows), model.n_classes)
    if fault:
        return fault
    if not np.array_equal(classes, again):
        return repeated_fault("predict", classes, again)
    if model.has_probabilities:
        shares = model.predict_proba(rows)
        fault = shares_fault(shares, len(rows), model.n_classes) or order_fault(classes, shares)
    if fault or y is None or model.labels.how != AS_CODES:
        return fault
    labels = np.eye(model.n_classes)[y]  # as probabilities: 1 for a row's own class
    if not order_fault(model.predict(X), labels):
        return ""
    return (
        "its classes are codes, and they agree better with the labels in another order than that of the annotation; "
        "fit it on the label column as the table writes it"
    )
