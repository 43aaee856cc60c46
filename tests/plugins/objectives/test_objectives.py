"""The objectives `c`, `k`, `ck` and `k-exact`: values by hand, draws of their own, and what they query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench import (
    CategoricalPerturbation,
    CfbenchError,
    FeatureSpace,
    FeatureSpec,
    Kind,
    NumericalPerturbation,
    Objective,
    ObjectiveContext,
    ObjectiveEntry,
)
from cfbench.errors import StudyError
from cfbench.problem import Term
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench.study.variants import make_variant
from cfbench_objectives.c_and_k import BothAware
from cfbench_objectives.c_setback import SetbackAware
from cfbench_objectives.k_exact import ExactlyNeighbourAware
from cfbench_objectives.k_score import NeighbourAware
from cfbench_objectives.plugin import cfbench_register_objectives
from tests.plugins.drawn_forests import draw_forest

ENTRIES: dict[str, ObjectiveEntry] = {entry.name: entry for entry in cfbench_register_objectives()}

SPACE = FeatureSpace(
    (
        FeatureSpec("wage", Kind.NUMERICAL, 0, 10, perturbation=NumericalPerturbation(2, 1)),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 4, perturbation=NumericalPerturbation(0.5, 0.5, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2))),
    )
)
X = np.array([2.0, 1.0, 0.0])
STILL = FeatureSpace((FeatureSpec("age", Kind.NUMERICAL, 0, 10),))
Z = np.array([[8.0, 1.0, 1.0], [2.5, 3.0, 0.0], [2.0, 1.0, 2.0], [2.0, 1.0, 0.0], [9.0, 4.0, 1.0]])


class Model:
    """Class 1 where ``wage - debt > 4``; it remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[FloatArray] = []

    def __call__(self, Z: FloatArray) -> IntArray:
        self.asked.append(Z)
        return classes_of(Z)


def classes_of(Z: FloatArray) -> IntArray:
    return (Z[:, 0] - Z[:, 1] > 4).astype(np.int64)


def refuse(Z: FloatArray) -> IntArray:
    raise AssertionError(f"the objective asked {len(Z)} rows")


def context(
    predict: Callable[[FloatArray], IntArray] = classes_of,
    *,
    space: FeatureSpace = SPACE,
    stream: int = 11,
    judging: bool = False,
) -> ObjectiveContext:
    return ObjectiveContext(x=X[: space.d], target=1, space=space, predict=predict, stream=stream, judging=judging)


def bound(objective: Objective, where: ObjectiveContext | None = None) -> Term:
    term = objective.bind(context() if where is None else where)
    assert term is not None
    return term


def term_in_parts(term: Term, Z: FloatArray, *sizes: int) -> FloatArray:
    parts = np.split(Z, np.cumsum(sizes))
    return np.concatenate([term(part, classes_of(part)) for part in parts])


# ------------------------------------------------------------------ c


def test_c_by_hand() -> None:
    # Set back: wage by 2 of 10 and the job; the wage to x (0.5 of 10) and debt by half of 3 of 4; the job; nothing;
    # wage by 2, debt by 2 of 4, the job.
    detours = [(0.2 + 1) / 3, (0.05 + 0.375) / 3, 0.0, 0.0, (0.2 + 0.5 + 1) / 3]
    detours[2] = 1 / 3  # job 2 may turn into 0
    term = bound(SetbackAware(), context(refuse))
    assert term(Z, classes_of(Z)) == pytest.approx(np.array(detours) / 2)


def test_c_is_the_loss_at_z_minus_the_maximal_setback() -> None:
    moved = np.array([[8.0, 1.0, 0.0], [2.5, 3.0, 0.0]])
    walked_again = np.array([[10.0, 1.0, 0.0], [3.0, 4.5, 0.0]])
    grown = SPACE.gower(walked_again, X) - SPACE.gower(moved, X)
    assert bound(SetbackAware())(moved, classes_of(moved)) == pytest.approx(0.5 * grown)


# ------------------------------------------------------------------ k


def test_k_by_the_neighbours_that_it_asked() -> None:
    model = Model()
    term = bound(NeighbourAware(m=8), context(model))
    values = term(Z, classes_of(Z))
    (rows,) = model.asked
    assert rows.shape == (len(Z) * 8, 3)
    neighbours = rows.reshape(len(Z), 8, 3)
    changed = Z != X
    for i, z in enumerate(Z):
        assert (neighbours[i][:, changed[i]] == z[changed[i]]).all()  # C stays
        lost = [classes_of(row[np.newaxis])[0] != classes_of(z[np.newaxis])[0] for row in neighbours[i]]
        assert values[i] == pytest.approx(0.5 * sum(lost) / 8)


def test_k_by_its_probability() -> None:
    # Kept: debt 1, uniform on [0.5, 1.5], and the job, which does not matter. Lost where debt >= 1.25.
    z = np.array([[5.25, 1.0, 0.0]])
    assert bound(NeighbourAware(m=20_000))(z, classes_of(z)) == pytest.approx([0.125], abs=0.01)


def test_the_score_is_1_where_no_kept_feature_can_move() -> None:
    z = np.array([[9.0, 4.0, 1.0]])  # all three are changed
    assert bound(NeighbourAware())(z, classes_of(z)).tolist() == [0.0]


def test_the_score_is_about_the_class_of_z_whatever_it_is() -> None:
    z = np.array([[4.75, 1.0, 0.0]])  # not of the target class; lost, for it, where debt < 0.75
    assert bound(NeighbourAware(m=20_000))(z, classes_of(z)) == pytest.approx([0.125], abs=0.01)


def test_a_candidate_asked_again_meets_other_draws() -> None:
    z = np.array([[5.25, 1.0, 0.0]])
    term = bound(NeighbourAware(m=64))
    values = {float(term(z, classes_of(z))[0]) for _ in range(6)}
    assert len(values) > 1


def test_the_judge_takes_a_thousand_draws_the_same_for_every_candidate() -> None:
    model = Model()
    z = np.tile([5.25, 1.0, 0.0], (3, 1))
    term = bound(NeighbourAware(m=4), context(model, judging=True))
    values = term(z, classes_of(z))
    assert sum(len(rows) for rows in model.asked) == 3000
    assert len(set(values.tolist())) == 1
    assert values[0] == pytest.approx(0.125, abs=0.03)
    assert term(z[:1], classes_of(z[:1]))[0] == values[0]
    other = bound(NeighbourAware(m=64), context(judging=True))
    assert other(z, classes_of(z)).tolist() == values.tolist()


def test_neighbours_are_asked_the_models_own_way_where_there_is_one() -> None:
    queries: list[tuple[int, int]] = []

    def own_way(Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        queries.append((len(Z), neighbours.first_evaluation))
        return classes_of(neighbours.draw(Z).reshape(-1, 3)).reshape(len(Z), neighbours.m)

    fast = bound(NeighbourAware(m=16), replace(context(refuse), query_neighbours=own_way))
    assert np.array_equal(term_in_parts(fast, Z, 2), term_in_parts(bound(NeighbourAware(m=16)), Z))
    assert queries == [(2, 0), (3, 2)]


# ------------------------------------------------------------------ ck, and what all have in common


@given(m=st.integers(1, 20), stream=st.integers(0, 2**64 - 1))
def test_ck_adds_both_terms(m: int, stream: int) -> None:
    where = context(stream=stream)
    c, k, both = (bound(o, where)(Z, classes_of(Z)) for o in (SetbackAware(), NeighbourAware(m=m), BothAware(m=m)))
    assert np.array_equal(both, c + k)


def test_what_a_candidate_costs() -> None:
    rows = {name: entry.objective().rows_per_candidate() for name, entry in ENTRIES.items()}
    assert rows == {"none": 0, "c": 0, "k": 64, "ck": 64, "k-exact": 0}
    for objective in (NeighbourAware(m=5), BothAware(m=5), SetbackAware()):
        model = Model()
        bound(objective, context(model))(Z, classes_of(Z))
        assert sum(len(rows) for rows in model.asked) == len(Z) * objective.rows_per_candidate()


def test_m_0_asks_nothing_and_amounts_to_a_simpler_objective() -> None:
    assert NeighbourAware(m=0).bind(context(refuse)) is None
    assert NeighbourAware(m=0).amounts_to() == "none"
    assert BothAware(m=0).amounts_to() == "c"
    assert {entry.objective().amounts_to() for entry in ENTRIES.values()} == {""}
    without = bound(BothAware(m=0), context(refuse))
    assert np.array_equal(without(Z, classes_of(Z)), bound(SetbackAware())(Z, classes_of(Z)))


@pytest.mark.parametrize("objective", [SetbackAware(), NeighbourAware(), BothAware()])
def test_a_space_that_nothing_moves_has_no_term_and_a_remark(objective: Objective) -> None:
    assert objective.bind(context(refuse, space=STILL)) is None
    assert "no feature is annotated with a perturbation" in objective.remark(STILL)
    assert objective.remark(SPACE) == ""


@pytest.mark.parametrize("m", [-1, 2.5, "4", True, None, [4], 1_000_001, 10**20])
@pytest.mark.parametrize("name", ["k", "ck"])
def test_m_is_a_whole_number_from_0_on(name: str, m: object) -> None:
    with pytest.raises(StudyError, match=f"settings of {name}: m"):
        make_variant(ENTRIES[name], {"m": m})
    assert make_variant(ENTRIES[name], {"m": 4}).label == f"{name}[m=4]"
    assert make_variant(ENTRIES[name], {}).settings == {"m": 64}


def test_none_adds_nothing_and_asks_nothing() -> None:
    entry = next(iter(cfbench_register_objectives()))
    assert entry.name == "none"
    assert entry.objective().bind(context(refuse)) is None


def test_the_term_is_what_many_draws_come_to() -> None:
    drawn = draw_forest(3)
    context = ObjectiveContext(drawn.x, drawn.target, drawn.space, refuse, stream=0, model=drawn.model)
    term = ExactlyNeighbourAware(width=0.0).bind(context)
    assert term is not None
    moved = np.array([[9.0, drawn.x[1], drawn.x[2], drawn.x[3]], [drawn.x[0], -3.0, 1.0, 0.0]])
    Z = np.vstack([drawn.x, moved, drawn.x])
    classes = drawn.model.predict(Z)
    drawn_rows = KNeighbours(drawn.space, drawn.x, 5, 4000).draw(Z)
    answers = drawn.model.predict(drawn_rows.reshape(-1, drawn.space.d)).reshape(len(Z), -1)
    lost = (answers != classes[:, np.newaxis]).mean(axis=1)
    assert term(Z, classes) == pytest.approx(0.5 * lost, abs=0.02)
    assert term(Z, 1 - classes) == pytest.approx(0.5 * (1 - lost), abs=0.02)  # of whatever class it is asked about


def test_without_a_model_it_says_so() -> None:
    drawn = draw_forest(3)
    with pytest.raises(CfbenchError, match="k-exact looks into the model, and this search gives none"):
        ExactlyNeighbourAware().bind(ObjectiveContext(drawn.x, drawn.target, drawn.space, refuse, stream=0))
