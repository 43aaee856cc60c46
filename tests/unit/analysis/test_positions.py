from __future__ import annotations

import numpy as np
import pytest

from cfbench.analysis.positions import FEWEST, Duel, duels, plain_positions, positions


def shown(ranks: list[list[float]], finders: int | None = None) -> list[str]:
    held = positions(np.array(ranks), len(ranks) if finders is None else finders)
    return [str(position).strip() for position in held]


def test_a_group_ends_before_the_first_row_that_is_told_apart() -> None:
    first = [1.0, 1.2, 1.1, 1.3, 1.0, 1.2, 1.1, 1.4]
    near = [1.1, 1.1, 1.2, 1.2, 1.1, 1.1, 1.2, 1.3]  # sometimes better, sometimes worse
    far = [3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7]  # always worse: p = 2 / 256, of two comparisons 4 / 256
    assert shown([first, near, far]) == ["1=", "1=", "3"]
    assert shown([first, far, far]) == ["1", "2=", "2="]
    assert shown([first]) == ["1"]


def test_holms_correction_counts_the_comparisons_with_the_first_row() -> None:
    first, worse = [1.0] * 7, [2.0] * 7  # p = 2 / 128 alone
    assert shown([first, worse]) == ["1", "2"]
    assert shown([first, worse, worse, worse]) == ["1", "2=", "2=", "2="]  # 3 * 2 / 128 = 0.047
    assert shown([first, worse, worse, worse, worse]) == ["1="] * 5  # 4 * 2 / 128 = 0.063


def test_with_fewer_units_nothing_could_be_told_apart() -> None:
    assert shown([[1.0] * (FEWEST - 1), [2.0] * (FEWEST - 1)]) == ["1=", "1="]
    assert shown([[1.0] * FEWEST, [2.0] * FEWEST]) == ["1", "2"]


def test_who_found_nothing_shares_no_position_with_who_found_something() -> None:
    near, last = [1.0] + [2.0] * (FEWEST - 1), [3.0] + [2.0] * (FEWEST - 1)  # told apart in one task of six
    assert shown([near, last, last]) == ["1=", "1=", "1="]
    assert shown([near, last, last], finders=1) == ["1", "2=", "2="]
    assert shown([near, near, last], finders=2) == ["1=", "1=", "3"]


def test_without_a_comparison_equal_means_share_a_number() -> None:
    assert [str(position) for position in plain_positions([1.5, 1.5, 3.0])] == ["1 ", "1 ", "3 "]


def test_duels_count_tasks_and_correct_over_all_pairs() -> None:
    ranks = np.array([[1.0] * 6, [2.0, 2.0, 2.0, 2.0, 2.0, 1.0], [3.0] * 6])
    found = duels(ranks, ranks)
    assert [(duel.first, duel.second, duel.wins, duel.losses, duel.ties) for duel in found] == [
        *((0, 1, 5, 0, 1), (0, 2, 6, 0, 0), (1, 2, 6, 0, 0)),
    ]
    # Alone: 2 / 32, 2 / 64, 2 / 64; times 3 for the smallest, 2 for the next, never below the one before.
    assert [duel.p for duel in found] == pytest.approx([6 / 64, 6 / 64, 6 / 64])


def test_duels_over_too_few_units_have_no_p() -> None:
    ranks = np.array([[1.0, 1.0], [2.0, 1.0]])
    assert duels(ranks, ranks[:, :1]) == [Duel(0, 1, 1, 0, 1, None)]
