# ruff: noqa: NPY002 - the legacy global generator is what these tests are about
from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from cfbench.study.protocol import SearchName, guarded_randomness, point_order

NAME = SearchName(42, "credit", "random-forest", "cogs", "none", 0, 17, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 43},
        {"dataset": "income"},
        {"model": "neural-network"},
        {"searcher": "lore"},
        {"objective": "k"},
        {"fold": 1},
        {"row_id": 18},
        {"repetition": 4},
    ],
)
def test_every_part_of_the_name_moves_the_searchers_stream(change: dict[str, object]) -> None:
    other = replace(NAME, **change)  # type: ignore[arg-type]
    assert other.searcher_seed().entropy != NAME.searcher_seed().entropy
    assert other.objective_stream() != NAME.objective_stream()


def test_the_judge_has_one_stream_for_all_searchers_objectives_and_repetitions() -> None:
    other = replace(NAME, searcher="lore", objective="k", repetition=0)
    assert other.judge_stream() == NAME.judge_stream()
    assert replace(NAME, row_id=18).judge_stream() != NAME.judge_stream()
    assert len({NAME.judge_stream(), NAME.objective_stream(), NAME.searcher_seed().entropy}) == 3


def test_seeds_are_the_same_on_every_machine() -> None:
    # Written down once: a change of these numbers changes every published result.
    draws = np.random.default_rng(NAME.searcher_seed()).integers(0, 1000, 5)
    assert draws.tolist() == [66, 171, 599, 286, 197]
    assert NAME.objective_stream() == 2194738053751196623


def test_global_generators_are_seeded_and_restored() -> None:
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    inside = []
    for _ in range(2):
        with guarded_randomness(NAME.searcher_seed()):
            inside.append((random.random(), np.random.random()))
    assert inside[0] == inside[1]
    assert (random.random(), np.random.random()) == expected


def test_global_generators_are_restored_after_an_error() -> None:
    state = random.getstate()
    with pytest.raises(ZeroDivisionError), guarded_randomness(NAME.searcher_seed()):
        random.seed(1 // 0)
    assert random.getstate() == state


def test_points_are_drawn_by_seed_data_set_and_fold() -> None:
    rows = np.arange(100, 300, 3)
    drawn = point_order(42, "credit", 0, rows)
    assert sorted(drawn.tolist()) == rows.tolist()
    assert drawn.tolist() != rows.tolist()
    for other in (
        point_order(43, "credit", 0, rows),
        point_order(42, "income", 0, rows),
        point_order(42, "credit", 1, rows),
    ):
        assert other.tolist() != drawn.tolist()


def test_rows_that_come_or_go_shift_no_other_point() -> None:
    rows = np.arange(100, 300, 3)
    fewer = np.delete(rows, [3, 40])
    drawn = point_order(42, "credit", 0, rows)
    np.testing.assert_array_equal(point_order(42, "credit", 0, fewer), drawn[np.isin(drawn, fewer)])


def test_drawn_points_are_no_run_of_the_table() -> None:
    # The mean place of 20 of 1,000 rows in the table's order is 9.5; of a random 20 it is 500, give or take 65.
    rows = np.arange(1000)
    means = [point_order(seed, "credit", 0, rows)[:20].mean() for seed in range(30)]
    assert abs(np.mean(means) - 499.5) < 4 * 65 / np.sqrt(30)
