"""The checks of oracles: every answer is the model's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cfbench import oracle_check
from cfbench.oracle import Oracle, predict_neighbours
from cfbench.perturbations import KNeighbours
from cfbench.space import FeatureSpace, FloatArray
from cfbench.testing.check import Failed
from cfbench.testing.models.bench import ModelBench, guarded_call, rows_of, space_of
from cfbench.testing.objectives.bench import SPACES

Look = Callable[[Oracle, Oracle, FeatureSpace, FloatArray], str]


def oracle_equals_predict(bench: ModelBench) -> None:
    """The oracle puts training rows and random rows into the classes that the model's predict does, in every space.

    To mend: the message names a row. Look at how categories are encoded, at ties, at the order in which votes are
    added.
    """
    _compare(bench, oracle_check.rows_differ)


def oracle_equals_predict_on_boundaries(bench: ModelBench) -> None:
    """They agree on both sides of the model's boundaries, one unit in the last place apart.

    To mend: compare as the model does, `<=` or `<`, and in its precision: many libraries cast rows to float32 first.
    """
    _compare(bench, oracle_check.boundaries_differ)


def oracle_equals_predict_for_single_rows(bench: ModelBench) -> None:
    """They agree on questions of one row.

    To mend: libraries add in another order for other numbers of rows. Answer single rows by the path of many, or settle
    what lies within rounding of a boundary by the model itself.
    """
    _compare(bench, oracle_check.single_rows_differ)


def oracle_equals_predict_for_neighbours(bench: ModelBench) -> None:
    """The classes of K-neighbours are those of the rows that `KNeighbours.draw` returns.

    To mend: an oracle without `predict_neighbours` is asked row by row. One that draws by itself keys its draws as
    cfbench.KNeighbours does, with cfbench.descended_key and cfbench.uniform_share, and honours the distribution.
    """
    _compare(bench, oracle_check.neighbours_differ)


def oracle_equals_predict_proba(bench: ModelBench) -> None:
    """Probabilities are the model's own, to the last bit.

    To mend: hand questions about probabilities to the model where the fast way rounds differently.
    """
    _compare(bench, oracle_check.probabilities_differ)


def questions_not_mutated(bench: ModelBench) -> None:
    """Answering writes into no question, and read-only or strided questions are answered alike.

    To mend: copy before you change, as `np.require(Z, np.float64, ["C", "W"])` does where it has to.
    """
    oracle = bench.oracle()
    X, _ = rows_of(SPACES["mixed"], seed=1)
    wanted = guarded_call(lambda: oracle.predict(X.copy()), "predict")
    locked, strided = X.copy(), np.repeat(X, 2, axis=1)[:, ::2]
    locked.setflags(write=False)
    neighbours = KNeighbours(space_of("mixed"), locked[0], 1, 5)
    for name, question in {"read-only": locked, "strided": strided}.items():
        answers = guarded_call(partial(oracle.predict, question), f"predict for a {name} question")
        if not np.array_equal(answers, wanted):
            raise Failed(f"a {name} question is answered differently")
        guarded_call(partial(predict_neighbours, oracle, question, neighbours), f"K-neighbours of a {name} question")
        guarded_call(partial(oracle.predict_proba, question), f"predict_proba for a {name} question")
        if not np.array_equal(question, X):
            raise Failed(f"it wrote into a {name} question")


def _compare(bench: ModelBench, look: Look) -> None:
    for name, rule in SPACES.items():
        oracle, model = bench.oracle(name), bench.fitted(name)
        X, _ = rows_of(rule)
        reason = guarded_call(partial(look, oracle, model, rule.space, X), "the oracle")
        if reason:
            raise Failed(f"space {name!r}: {reason}")
