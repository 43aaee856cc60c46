from __future__ import annotations

import numpy as np
import pytest

from cfbench import BudgetExhausted
from cfbench_searchers.growing_spheres import GrowingSpheres, GrowingSpheresScaled, layer, made_sparse
from tests.plugins.searchers.problems import SpiedProblem, answer_of, categories, never, numbers, rng


def test_the_defaults_are_the_papers() -> None:
    expected = {"n_in_layer": 2000, "first_radius": 0.1, "decrease_factor": 10, "sparse": True}
    assert GrowingSpheres().model_dump() == GrowingSpheresScaled().model_dump() == expected


def test_a_layer_is_uniform_in_volume() -> None:
    points = layer(20_000, 3, 1.0, 2.0, rng())
    radii = np.linalg.norm(points, axis=1)
    assert radii.min() >= 1 - 1e-12
    assert radii.max() <= 2 + 1e-12
    # Share of the volume up to 1.5: (1.5^3 - 1) / (2^3 - 1) = 0.3393; deviation of the count 66.96.
    assert abs((radii < 1.5).sum() - 0.3393 * 20_000) < 4 * 66.96
    assert np.abs((points / radii[:, np.newaxis]).mean(axis=0)).max() < 4 / np.sqrt(3 * 20_000)


def test_a_layer_of_tiny_radii_keeps_them_in_many_dimensions() -> None:
    radii = np.linalg.norm(layer(100, 40, 1e-12, 2e-12, rng()), axis=1)
    assert radii.min() >= 1e-12 * (1 - 1e-9)
    assert radii.max() <= 2e-12 * (1 + 1e-9)


def test_grows_by_the_published_step_until_the_target_class_is_met() -> None:
    problem = SpiedProblem(numbers((-5, 5), (-5, 5)), [0.0, 0.0], lambda Z: Z[:, 0] > 0.3)
    z = answer_of(GrowingSpheres(), problem)
    radii = [np.linalg.norm(Z, axis=1) for Z in problem.asked if len(Z) == 2000]
    assert radii[0].max() <= 0.1
    # The ball of 0.1 holds nothing, so that r = 0.01 and the layers are 9 * 0.01 / 5 wide.
    for i, layer_radii in enumerate(radii[1:]):
        assert layer_radii.min() >= 0.01 + i * 0.018 - 1e-9
        assert layer_radii.max() <= 0.01 + (i + 1) * 0.018 + 1e-9
    assert 0.3 < z[0] < 0.3 + 2 * 0.018
    assert z[1] == 0


def test_zooms_in_first_where_the_target_class_is_near() -> None:
    problem = SpiedProblem(numbers((-5, 5), (-5, 5)), [0.0, 0.0], lambda Z: Z[:, 0] > 3e-4)
    z = answer_of(GrowingSpheres(), problem)
    furthest = [np.linalg.norm(Z, axis=1).max() for Z in problem.asked[:5]]
    # Balls of 0.1, 0.01, 0.001 hold target points, that of 0.0001 none; the layers begin at 0.00001.
    assert furthest == pytest.approx([0.1, 0.01, 0.001, 0.0001, 2.8e-5], rel=0.02)
    assert 3e-4 < z[0] < 3e-4 + 2 * 1.8e-5


def test_picks_the_closest_by_gower() -> None:
    space = numbers((0, 1), (0, 100))
    problem = SpiedProblem(space, [0.5, 50.0], lambda Z: Z[:, 0] + Z[:, 1] > 50.75)
    z = answer_of(GrowingSpheres(sparse=False), problem)
    hits = problem.asked[-1][problem.asked[-1].sum(axis=1) > 50.75]
    by_hand = (np.abs(hits[:, 0] - 0.5) + np.abs(hits[:, 1] - 50) / 100) / 2
    assert z.tolist() == hits[by_hand.argmin()].tolist()


def test_gives_up_past_the_diameter() -> None:
    problem = SpiedProblem(numbers((0, 0.3), (0, 0.4)), [0.1, 0.1], lambda Z: Z[:, 0] < 0)
    assert GrowingSpheres(n_in_layer=50).search(problem, rng()) is None
    # The diameter is 0.5: one ball, then layers that begin at 0.01 + i * 0.018 < 0.5.
    assert len(problem.asked) == 1 + 28


def test_a_box_smaller_than_the_first_ball_is_searched() -> None:
    problem = SpiedProblem(numbers((0, 1e-9)), [0.0], lambda Z: (Z[:, 0] > 4e-10) & (Z[:, 0] < 6e-10))
    z = answer_of(GrowingSpheres(), problem)
    assert 4e-10 < z[0] < 6e-10


def test_nothing_to_search_where_nothing_can_change() -> None:
    problem = SpiedProblem(categories(1, 1), [0.0, 0.0], never)
    assert GrowingSpheresScaled().search(problem, rng()) is None
    assert not problem.asked


def test_raw_units_are_lost_in_a_wide_feature_and_shares_of_the_range_are_not() -> None:
    space = numbers((0, 10_000), (0, 1))
    with pytest.raises(BudgetExhausted):
        GrowingSpheres().search(SpiedProblem(space, [0, 0], lambda Z: Z[:, 0] > 3000, max_queries=100_000), rng())
    z = answer_of(GrowingSpheresScaled(), SpiedProblem(space, [0, 0], lambda Z: Z[:, 0] > 3000, max_queries=100_000))
    assert 3000 < z[0] < 3000 + 2 * 180
    assert z[1] == 0


def test_categories_are_asked_as_numbers_and_rounded_at_the_end() -> None:
    past_half = SpiedProblem(categories(3), [0.0], lambda Z: Z[:, 0] > 0.75)
    assert GrowingSpheresScaled().search(past_half, rng()) == [1.0]
    assert (np.concatenate(past_half.asked) % 1 > 0).any()
    # Between the codes there is a target region that no category lies in: rounding loses it.
    between = SpiedProblem(categories(3), [0.0], lambda Z: (Z[:, 0] > 0.2) & (Z[:, 0] < 0.8))
    assert GrowingSpheresScaled().search(between, rng()) is None


@pytest.mark.parametrize("searcher", [GrowingSpheres(n_in_layer=50), GrowingSpheresScaled(n_in_layer=50)])
def test_a_target_class_between_all_categories_ends_the_zoom(searcher: GrowingSpheres) -> None:
    assert searcher.search(SpiedProblem(categories(3), [1.0], lambda Z: Z[:, 0] % 1 > 0), rng()) is None


def test_projection_puts_the_least_moved_back_first() -> None:
    space = numbers((0, 10), (0, 10), (0, 10), (0, 10))
    problem = SpiedProblem(space, np.zeros(4), lambda Z: Z.sum(axis=1) > 5)
    z = made_sparse(problem, np.array([1.0, 4.0, 0.0, 2.0]), np.ones(4))
    # 7 - 1 stays above 5; 6 - 2 does not; 6 - 4 does not.
    assert z.tolist() == [0, 4, 0, 2]
    assert np.concatenate(problem.asked).tolist() == [[0, 4, 0, 2], [0, 4, 0, 0], [0, 0, 0, 2]]
    # In units of (1, 8, 1, 1), the second feature has moved least.
    problem.asked.clear()
    assert made_sparse(problem, np.array([1.0, 4.0, 0.0, 2.0]), np.array([1.0, 8.0, 1.0, 1.0])).tolist() == [0, 4, 0, 2]
    assert np.concatenate(problem.asked)[0].tolist() == [1, 0, 0, 2]
