"""What perturbations can do to a counterfactual, on a model whose answers can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.explaining.perturbation_effects import PerturbationEffects, perturbation_effects
from cfbench.robustness.random_perturbations import PerturbedPart
from cfbench.space import FloatArray, IntArray

HOMES = ("rents", "owns", "neither")
ANY_HOME = CategoricalPerturbation((0, 1, 2))


def space(home: CategoricalPerturbation | None = ANY_HOME, *, income: bool = True) -> FeatureSpace:
    return FeatureSpace(
        (
            FeatureSpec(
                "income", Kind.NUMERICAL, 0, 100, perturbation=NumericalPerturbation(10, 5) if income else None
            ),
            FeatureSpec("age", Kind.NUMERICAL, 18, 98),
            FeatureSpec("home", Kind.CATEGORICAL, 0, 2, categories=HOMES, perturbation=home),
        )
    )


def grant(rows: FloatArray) -> IntArray:
    """Class 1 where income is at least 50, or at least 40 in a home of one's own."""
    granted: IntArray = np.asarray(rows[:, 0] + 10 * (rows[:, 2] == 1) >= 50, dtype=np.int64)
    return granted


def effects(x: list[float], z: list[float], where: FeatureSpace, *, stream: int = 7) -> PerturbationEffects:
    return perturbation_effects(np.array(x, dtype=float), np.array(z, dtype=float), where, 1, grant, stream, 1000)


def test_the_worst_setback_its_price_and_its_class() -> None:
    found = effects([20, 40, 0], [52, 40, 1], space())
    assert found.setback is not None
    # 52 falls back by 10, the home turns into one of two others: 42 is too little in both.
    assert found.setback.moved.tolist() == [-10, 0, 0]
    assert found.setback.turned == (2,)
    assert (found.setback.undone, found.setback.ways) == (2, 2)
    assert found.setback.price == pytest.approx(0.5 * (10 / 100 + 1) / 3)


def test_a_setback_ends_at_the_factual_value() -> None:
    found = effects([48, 40, 0], [50, 40, 0], space())
    assert found.setback is not None
    assert found.setback.moved.tolist() == [-2, 0, 0]
    assert (found.setback.undone, found.setback.ways) == (1, 1)


def test_shares_of_random_perturbations() -> None:
    found = effects([20, 40, 0], [52, 40, 1], space())
    # A home of one's own, one draw of three, is enough; else 52 - 10 u has to stay at 50 or above: u <= 0.2.
    (survival,) = found.survivals
    assert survival.part is PerturbedPart.C
    assert survival.survived / survival.n == pytest.approx(1 / 3 + 2 / 3 * 0.2, abs=0.06)
    assert found.kept == ()
    assert found.certain == ("Nothing that is kept can be perturbed.",)


def test_the_kept_feature_with_the_largest_effect() -> None:
    found = effects([45, 40, 0], [45, 40, 1], space(home=None))
    assert found.setback is None
    (effect,) = found.kept
    assert (effect.feature, effect.n) == (0, 1000)
    # 45 + w + 10 >= 50 with w uniform in [-10, 5]: lost in a third.
    assert effect.lost / effect.n == pytest.approx(1 / 3, abs=0.06)
    (survival,) = found.survivals
    # The only kept feature that moves: alone and together are the same draws.
    assert (survival.part, survival.survived) == (PerturbedPart.K, 1000 - effect.lost)
    assert found.certain == ("Nothing that changes can be set back.",)


def test_both_parts_and_the_order_of_kept_features() -> None:
    where = FeatureSpace(
        (
            *space().features[:1],
            FeatureSpec("age", Kind.NUMERICAL, 18, 98, perturbation=NumericalPerturbation(1, 1)),
            *space().features[2:],
        )
    )
    found = effects([45, 40, 0], [45, 41, 1], where)
    assert [one.part for one in found.survivals] == [PerturbedPart.C, PerturbedPart.K, PerturbedPart.BOTH]
    assert [one.feature for one in found.kept] == [0]
    found = effects([45, 40, 0], [55, 40, 0], where)
    # Age alone changes no class; the home's draws are 0, 1 or 2, and 55 is enough in any.
    assert [(one.feature, one.lost) for one in found.kept] == [(1, 0), (2, 0)]


def test_nothing_is_perturbed_where_nothing_is_annotated() -> None:
    found = effects([20, 40, 0], [52, 40, 1], space(home=None, income=False))
    assert (found.setback, found.survivals, found.kept) == (None, (), ())
    assert found.certain == ("No feature has an annotated perturbation, so nothing can happen to this counterfactual.",)


def test_a_kept_value_at_the_end_of_its_interval_has_nowhere_to_go() -> None:
    grows = FeatureSpec("income", Kind.NUMERICAL, 0, 100, perturbation=NumericalPerturbation(0, 5))
    where = FeatureSpace((grows, *space(home=None).features[1:]))
    assert effects([100, 40, 0], [100, 41, 0], where).kept == ()
    assert len(effects([99, 40, 0], [99, 41, 0], where).kept) == 1


def test_the_same_stream_gives_the_same_draws() -> None:
    first, again = (effects([20, 40, 0], [52, 40, 1], space()) for _ in range(2))
    assert first.survivals == again.survivals
    assert effects([20, 40, 0], [52, 40, 1], space(), stream=8).survivals != first.survivals
