"""The network's oracle, its neighbours and its compiled pass: the classes that scikit-learn gives each row."""

from __future__ import annotations

import copy
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from cfbench import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.errors import UnavailableError
from cfbench.robustness import Distribution, KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench_models.network import oracle as network_oracle
from cfbench_models.network.family import NetworkModel, NeuralNetwork
from cfbench_models.network.inputs import ForwardPass
from cfbench_models.network.neighbours import CANDIDATES, NeighbourBox
from cfbench_models.network.oracle import MANY_DIFFERENCES, CompiledPass, NetworkOracle
from cfbench_models.network.warmup import warm_up
from cfbench_models.shared.compilation import compiled_network

JOBS = ("none", "clerk", "nurse", "judge")
SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0, perturbation=NumericalPerturbation(0.1, 0.2, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, JOBS, perturbation=CategoricalPerturbation((0, 2, 3))),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, ("no", "yes"), perturbation=CategoricalPerturbation((0, 1))),
        FeatureSpec("days", Kind.NUMERICAL, -50.0, 50.0, perturbation=NumericalPerturbation(0.0, 30.0)),
        FeatureSpec("city", Kind.CATEGORICAL, 0, 2, ("A", "B", "C")),
        FeatureSpec("rooms", Kind.NUMERICAL, 1.0, 9.0),
    )
)
CHOSEN = [(1e-4, 200, "adam"), (0.01, 200, "sgd"), (1e-4, 1000, "adam"), (0.01, 1000, "sgd"), (0.01, 200, "adam")]
"""What tuning chose for the shipped data sets."""

each_number_of_classes = pytest.mark.parametrize("classes", [2, 3])


def rows(n: int, seed: int, kept: float = 0.0) -> FloatArray:
    """Draw rows; each value is that of one common row with probability `kept`."""
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(SPACE.lower, SPACE.upper, (n, SPACE.d))
    codes = np.floor(rng.random((n, SPACE.d)) * np.maximum(SPACE.n_categories, 1))
    drawn = np.where(SPACE.is_categorical, codes, numbers)
    common = np.array([412.5, 1.0, 1.0, -3.0, 1.0, 4.0])
    return np.where(rng.random((n, SPACE.d)) < kept, common, drawn)


def fitted(classes: int, *choice: Any) -> NetworkModel:
    """Return a network of the test's own."""
    return copy.deepcopy(_fitted(classes, choice or CHOSEN[-1]))


@cache
def _fitted(classes: int, choice: tuple[Any, ...]) -> NetworkModel:
    X = rows(150, seed=0)
    X[X[:, 4] == 2, 4] = 0  # city C does not occur in training
    score = X[:, 0] / 1000 + (X[:, 1] == 2) + X[:, 3] / 100 + np.random.default_rng(1).normal(0, 0.2, len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    names = ("learning_rate_init", "max_iter", "solver")
    return NeuralNetwork().fit(X, y, SPACE, dict(zip(names, choice, strict=True)))


def classes_of_all(model: NetworkModel, Z: FloatArray) -> IntArray:
    classes: IntArray = model.classifier.predict(model.encoding.transform(Z))
    return classes


def classes_one_by_one(model: NetworkModel, Z: FloatArray) -> IntArray:
    return np.array([classes_of_all(model, z[np.newaxis])[0] for z in Z], dtype=np.int64)


def exact_outputs(model: NetworkModel, Z: FloatArray) -> Any:
    """Return the outputs in extended precision, shape (n, outputs)."""
    first, second = (weights.astype(np.longdouble) for weights in model.classifier.coefs_)
    hidden = np.maximum(model.encoding.transform(Z).astype(np.longdouble) @ first + model.classifier.intercepts_[0], 0)
    return hidden @ second + model.classifier.intercepts_[1]


@cache
def on_the_boundary(classes: int) -> FloatArray:
    """Return rows around neighbouring floats between which scikit-learn's class changes."""
    model = fitted(classes)
    found: list[FloatArray] = []
    for start, end in rows(80, seed=5).reshape(40, 2, -1):
        near, far = start, np.where(SPACE.is_categorical, start, end)
        class_of_near, class_of_far = classes_one_by_one(model, np.array([near, far]))
        if class_of_near == class_of_far:
            continue
        middle = (near + far) / 2
        while not (np.array_equal(middle, near) or np.array_equal(middle, far)):
            if classes_one_by_one(model, middle[np.newaxis])[0] == class_of_near:
                near = middle
            else:
                far = middle
            middle = (near + far) / 2
        ulps = np.where(SPACE.is_categorical, 0.0, np.spacing(np.abs(near)))
        found += [near + step * ulps for step in range(-4, 5)]
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOSEN)
@each_number_of_classes
def test_50_000_rows_have_scikit_learns_classes(choice: tuple[Any, ...], classes: int) -> None:
    model = fitted(classes, *choice)
    Z = rows(50_000, seed=2)
    np.testing.assert_array_equal(NetworkOracle(model).predict(Z), classes_of_all(model, Z))


@pytest.mark.slow
@each_number_of_classes
def test_rows_on_the_boundary_are_answered_as_if_asked_alone(classes: int) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    Z = on_the_boundary(classes)
    alone = classes_one_by_one(model, Z)
    in_doubt = ~ForwardPass(model.encoding, model.classifier, np.float64).answer(Z)[1]
    assert in_doubt.any()
    assert len(np.unique(alone[in_doubt])) > 1
    order = np.random.default_rng(0).permutation(len(Z))
    for ask in (oracle.predict, model.predict):
        np.testing.assert_array_equal(ask(Z), alone)
        np.testing.assert_array_equal(ask(Z[order]), alone[order])
        for size in (1, 2, 7, 64):
            parts = [ask(Z[start : start + size]) for start in range(0, len(Z), size)]
            np.testing.assert_array_equal(np.concatenate(parts), alone)
        np.testing.assert_array_equal(ask(np.concatenate([Z, rows(1000, seed=4)]))[: len(Z)], alone)


@each_number_of_classes
def test_where_all_outputs_are_equal_the_first_class_wins_as_in_scikit_learn(classes: int) -> None:
    model = fitted(classes)
    model.classifier.coefs_[1][:] = 0
    model.classifier.intercepts_[1][:] = 0
    Z = rows(20, seed=6)
    assert not classes_of_all(model, Z).any()
    assert not NetworkOracle(model).predict(Z).any()
    assert not NetworkOracle(model).predict(Z[:1]).any()


def test_an_output_next_to_zero_counts_as_the_logistic_function_rounds_it() -> None:
    model = fitted(2)
    model.classifier.coefs_[1][:] = 0
    for bias in (1e-17, 1e-16, 2e-16, 3e-16, 1e-15, -1e-17):
        model.classifier.intercepts_[1][:] = bias
        Z = rows(3, seed=6)
        np.testing.assert_array_equal(NetworkOracle(model).predict(Z), classes_of_all(model, Z))


@each_number_of_classes
def test_values_that_are_no_categories_or_beyond_all_measure_are_answered_in_silence(classes: int) -> None:
    model = fitted(classes)
    Z = rows(64, seed=7)
    Z[:16, 1] = [-1, 0.5, 4, 1e300] * 4
    Z[16:32, 4] = [2, 1.5, -0.0, 7] * 4
    Z[32:48, 0] = [sign * size for size in (1e20, 1e33, 1e38, 3e38, 1e39, 1e150, 1e300, 1e308) for sign in (1, -1)]
    Z[48:, 3] = [1e-320, -1e-310, 1e-40, 1e5] * 4
    expected = classes_one_by_one(model, Z)
    oracle = NetworkOracle(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(oracle.predict(Z), expected)
        np.testing.assert_array_equal([oracle.predict(z[np.newaxis])[0] for z in Z], expected)


def test_a_question_without_rows_has_an_answer_without_rows() -> None:
    oracle = NetworkOracle(fitted(2))
    none = np.empty((0, SPACE.d))
    assert oracle.predict(none).shape == (0,)
    assert oracle.predict_neighbours(none, KNeighbours(SPACE, rows(1, seed=0)[0], 1, 5)).shape == (0, 5)


def test_answers_are_the_askers_own() -> None:
    oracle = NetworkOracle(fitted(2))
    Z = rows(2000, seed=8)
    before = Z.copy()
    first = oracle.predict(Z)
    oracle.predict(Z[:1])[0] = 77
    np.testing.assert_array_equal(oracle.predict(Z), first)
    np.testing.assert_array_equal(Z, before)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@each_number_of_classes
def test_no_output_is_further_from_the_exact_one_than_the_bound_says(precision: Any, classes: int) -> None:
    model = fitted(classes)
    forward = ForwardPass(model.encoding, model.classifier, precision)
    Z = rows(2000, seed=10)
    exact = exact_outputs(model, Z).T
    inputs = forward.encode(Z)
    outputs = forward.output @ np.maximum(forward.hidden @ inputs, 0) + forward.output_bias
    error = np.abs(outputs - exact).max(axis=0)
    bound = forward.rounding @ np.abs(inputs)
    assert (error < bound).all()
    assert (bound < 1e4 * np.finfo(precision).eps * np.abs(exact).max()).all()  # and it is not idly large


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"hidden_layer_sizes": (5, 5)}, "2 hidden layers"),
        ({"activation": "tanh"}, "'tanh'"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one pass is enough here
def test_networks_of_another_shape_are_refused(settings: dict[str, Any], reason: str) -> None:
    model = fitted(2)
    X = rows(20, seed=0)
    model.classifier = MLPClassifier(max_iter=1, **settings).fit(model.encoding.transform(X), X[:, 2])
    with pytest.raises(UnavailableError, match=reason):
        NetworkOracle(model)


def test_another_classifier_is_refused() -> None:
    class Stranger(MLPClassifier):  # type: ignore[misc]  # scikit-learn brings no types
        pass

    model = fitted(2)
    model.classifier.__class__ = Stranger
    with pytest.raises(UnavailableError, match="Stranger"):
        NetworkOracle(model)


def candidates(x: FloatArray, n: int, seed: int) -> FloatArray:
    """Return points that keep about half of the features of `x`."""
    Z = rows(n, seed)
    return np.where(np.random.default_rng(seed).random(Z.shape) < 0.5, x, Z)


@pytest.mark.parametrize("distribution", list(Distribution))
@pytest.mark.parametrize("m", [0, 1, 64, 130])
@each_number_of_classes
def test_neighbours_have_the_classes_of_their_rows(classes: int, m: int, distribution: Distribution) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    x = rows(1, seed=11)[0]
    Z = candidates(x, CANDIDATES + 20, seed=12)
    neighbours = KNeighbours(SPACE, x, 5, m, distribution, first_evaluation=3)
    drawn = neighbours.draw(Z)
    expected = classes_of_all(model, drawn.reshape(-1, SPACE.d)).reshape(len(Z), m) if m else np.empty((len(Z), 0))
    np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


@each_number_of_classes
def test_neighbours_do_not_hang_on_the_candidates_beside_theirs(classes: int) -> None:
    oracle = NetworkOracle(fitted(classes))
    x = rows(1, seed=13)[0]
    Z = candidates(x, 40, seed=14)
    neighbours = KNeighbours(SPACE, x, 6, 16)
    together = oracle.predict_neighbours(Z, neighbours)
    alone = [oracle.predict_neighbours(z[np.newaxis], neighbours.starting(i))[0] for i, z in enumerate(Z)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.slow
@each_number_of_classes
def test_neighbours_of_candidates_on_the_boundary(classes: int) -> None:
    model = fitted(classes)
    Z = on_the_boundary(classes)
    oracle = NetworkOracle(model)
    for x in (Z[0] + 1, Z[0]):  # nothing is kept, nearly everything is
        neighbours = KNeighbours(SPACE, x, 7, 8)
        expected = classes_one_by_one(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, 8)
        np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


def test_neighbours_that_are_drawn_in_another_way_are_drawn_in_that_way() -> None:
    class Doubled(KNeighbours):
        def draw(self, Z: FloatArray, first: int = 0) -> FloatArray:
            return super().draw(Z, first) * np.where(SPACE.is_categorical, 1, 2)

    model = fitted(2)
    x = rows(1, seed=20)[0]
    Z = candidates(x, 30, seed=21)
    neighbours = Doubled(SPACE, x, 1, 4)
    expected = classes_of_all(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, 4)
    np.testing.assert_array_equal(NetworkOracle(model).predict_neighbours(Z, neighbours), expected)


def test_searches_take_turns() -> None:
    model = fitted(2)
    oracle = NetworkOracle(model)
    first, second = rows(2, seed=15)
    for x, m in ((first, 4), (second, 4), (first, 6), (first, 4)):
        Z = candidates(x, 30, seed=16)
        neighbours = KNeighbours(SPACE, x, 8, m)
        expected = classes_of_all(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, m)
        np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


@each_number_of_classes
def test_a_box_is_settled_only_if_all_neighbours_are_of_one_class(classes: int) -> None:
    model = fitted(classes)
    x = rows(1, seed=17)[0]
    Z = candidates(x, 400, seed=18)
    neighbours = KNeighbours(SPACE, x, 9, 500)
    box = NeighbourBox(ForwardPass(model.encoding, model.classifier, np.float32), neighbours)
    winners, settled = box.answer(Z)
    answers = classes_of_all(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(len(Z), -1)
    agree = (answers == answers[:, :1]).all(axis=1)
    assert agree[settled].all()
    np.testing.assert_array_equal(winners[settled], answers[settled, 0])
    assert settled.sum() > 0.5 * agree.sum()  # and the bounds are worth their while


def test_where_nothing_is_perturbed_neighbours_are_the_candidate() -> None:
    still = FeatureSpace(tuple(FeatureSpec(f.name, f.kind, f.lower, f.upper, f.categories) for f in SPACE.features))
    model = fitted(2)
    Z = np.concatenate([rows(30, seed=19), on_the_boundary(2)])
    answers = NetworkOracle(model).predict_neighbours(Z, KNeighbours(still, Z[0], 1, 3))
    np.testing.assert_array_equal(answers, np.repeat(classes_one_by_one(model, Z)[:, np.newaxis], 3, axis=1))


def kernels() -> Any:
    queries = compiled_network()
    assert queries is not None
    return queries


@cache
def passes(classes: int) -> tuple[CompiledPass, ForwardPass]:
    model = fitted(classes)
    single = ForwardPass(model.encoding, model.classifier, np.float32)
    return CompiledPass(single, kernels()), single


def exact(model: NetworkModel, Z: FloatArray) -> tuple[Any, Any]:
    """Return the winners, and by how much they lead."""
    outputs = exact_outputs(model, Z)
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.int64), np.abs(outputs[:, 0])
    ordered = np.sort(outputs, axis=1)
    return outputs.argmax(axis=1), ordered[:, -1] - ordered[:, -2]


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9, 1.0])
@each_number_of_classes
def test_rows_have_the_exact_class(classes: int, kept: float) -> None:
    Z = rows(5000, seed=3, kept=kept)
    winners, certain = passes(classes)[0].answer(Z)
    wanted, leads = exact(fitted(classes), Z)
    np.testing.assert_array_equal(winners[certain], wanted[certain])
    assert certain.mean() > 0.98
    assert certain[leads > 0.01].all()  # the bound is not idly large


@each_number_of_classes
def test_rows_beside_the_boundary_are_in_doubt_or_right(classes: int) -> None:
    model, (compiled, _) = fitted(classes), passes(classes)
    near, far = rows(4000, seed=4, kept=0.7), rows(4000, seed=5, kept=0.7)
    far = np.where(SPACE.is_categorical, near, far)
    apart = exact(model, near)[0] != exact(model, far)[0]
    near, far = near[apart], far[apart]
    assert len(near) > 100
    own = exact(model, near)[0]
    doubts = []
    for _ in range(45):
        middle = near + (far - near) / 2
        winners, certain = compiled.answer(middle)
        wanted, _ = exact(model, middle)
        np.testing.assert_array_equal(winners[certain], wanted[certain])
        stays = (wanted == own)[:, np.newaxis]
        near, far = np.where(stays, middle, near), np.where(stays, far, middle)
        doubts.append(1 - certain.mean())
    assert doubts[0] < 0.05
    assert doubts[-1] == 1


def test_rows_without_likeness_are_answered_by_a_matrix_product(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, single = passes(2)
    Z = rows(300, seed=6)
    asked = kernels().classes_of_rows(compiled._tables, Z, 1.0)
    assert not asked[0]
    monkeypatch.setattr("cfbench_models.network.oracle.MANY_DIFFERENCES", 1.0)
    for given, wanted in zip(compiled.answer(Z), single.answer(Z), strict=True):
        np.testing.assert_array_equal(given, wanted)
    assert MANY_DIFFERENCES > 1


@pytest.mark.parametrize("odd", [0.5, -1.0, 7.0, 1e300, -1e300, np.inf])
@each_number_of_classes
def test_values_that_are_no_categories_or_beyond_all_measure(classes: int, odd: float) -> None:
    model = fitted(classes)
    Z = rows(60, seed=7, kept=0.8)
    Z[::2, 1] = odd
    winners, certain = passes(classes)[0].answer(Z)
    np.testing.assert_array_equal(winners[certain], exact(model, Z)[0][certain])
    assert certain.any()
    Z = rows(60, seed=8, kept=0.8)
    Z[::3, 0] = odd
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = exact(model, Z)[0]
        winners, certain = passes(classes)[0].answer(Z)
    np.testing.assert_array_equal(winners[certain], wanted[certain])
    if abs(odd) > 1e299:
        assert not certain[::3].any()


@each_number_of_classes
def test_with_and_without_a_compiler_the_classes_are_the_same(monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    model = fitted(classes)
    fast = NetworkOracle(model)
    monkeypatch.setattr(network_oracle, "compiled_network", lambda: None)
    plain = NetworkOracle(model)
    assert isinstance(fast._first, CompiledPass)
    assert isinstance(plain._first, ForwardPass)
    for kept in (0.0, 0.8):
        Z = rows(2000, seed=9, kept=kept)
        for some in (Z, Z[:1], Z[:0], np.asfortranarray(Z[:90])):
            np.testing.assert_array_equal(fast.predict(some), plain.predict(some))
    x = rows(1, seed=10)[0]
    Z = candidates(x, CANDIDATES + 20, seed=11)
    for m in (0, 3, 70):
        neighbours = KNeighbours(SPACE, x, 2, m, first_evaluation=5)
        compiled = fast.predict_neighbours(Z, neighbours)
        np.testing.assert_array_equal(compiled, plain.predict_neighbours(Z, neighbours))


def test_rows_of_another_width_are_refused_and_never_read_past_their_end() -> None:
    for width in (5, 7):
        with pytest.raises((ValueError, IndexError)):
            passes(2)[0].answer(np.zeros((4, width)))


def test_the_warm_up_asks_as_searches_do() -> None:
    warm_up()
    before = [len(query.signatures) for query in kernels()]
    for classes in (2, 3):
        oracle, Z = NetworkOracle(fitted(classes)), rows(10, seed=0)
        oracle.predict(Z)
        oracle.predict_neighbours(Z, KNeighbours(SPACE, Z[0], 1, 2))
    assert [len(query.signatures) for query in kernels()] == before
