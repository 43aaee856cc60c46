from __future__ import annotations

import numpy as np
import pytest

from cfbench.analysis.ranks import FEWEST, fewest_units, group_letters, positions, searcher_pairs


def letters(ranks: list[list[float]], finders: int | None = None) -> str:
    return "".join(group_letters(np.array(ranks), len(ranks) if finders is None else finders))


def test_a_group_ends_before_the_first_row_that_differs_significantly() -> None:
    first = [1.0, 1.2, 1.1, 1.3, 1.0, 1.2, 1.1, 1.4]
    near = [1.1, 1.1, 1.2, 1.2, 1.1, 1.1, 1.2, 1.3]  # sometimes better, sometimes worse
    far = [3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7]  # always worse: p = 2 / 256, of two comparisons 4 / 256
    assert letters([first, near, far]) == "aab"
    assert letters([first, far, far]) == "abb"
    assert letters([first]) == "a"


def test_holms_correction_counts_the_comparisons_with_the_first_row() -> None:
    first, worse = [1.0] * 7, [2.0] * 7  # p = 2 / 128 alone
    assert letters([first, worse]) == "ab"
    assert letters([first, worse, worse, worse]) == "abbb"  # 3 * 2 / 128 = 0.047
    assert letters([first, worse, worse, worse, worse]) == "aaaaa"  # 4 * 2 / 128 = 0.063


def test_searchers_that_found_nothing_share_no_group_with_those_that_found_something() -> None:
    near, last = [1.0] + [2.0] * (FEWEST - 1), [3.0] + [2.0] * (FEWEST - 1)  # different in one task of six
    assert letters([near, last, last]) == "aaa"
    assert letters([near, last, last], finders=1) == "abb"
    assert letters([near, near, last], finders=2) == "aab"


def test_more_groups_than_letters_go_on_with_two() -> None:
    ranks = np.array([[float(place)] * 20 for place in range(28)])  # p = 2 / 2**20, at most 27 times
    assert group_letters(ranks, 28) == [*"abcdefghijklmnopqrstuvwxyz", "aa", "ab"]


@pytest.mark.parametrize("searchers", [2, 3, 4, 9, 30])
def test_the_fewest_units_are_those_that_can_make_a_difference(searchers: int) -> None:
    fewest = fewest_units(searchers)
    ranks = [[1.0], *[[2.0]] * (searchers - 1)]  # no result could be clearer
    assert letters([row * fewest for row in ranks]) == "a" + "b" * (searchers - 1)
    assert letters([row * (fewest - 1) for row in ranks]) == "a" * searchers


def test_positions_go_by_the_mean_rank_and_equal_means_share_one() -> None:
    assert [str(position) for position in positions(np.array([1.5, 1.5, 3.0]))] == ["1=", "1=", "3 "]
    assert [str(position) for position in positions(np.array([0.3, 0.1 + 0.2, 0.5]))] == ["1=", "1=", "3 "]
    assert [str(position) for position in positions(np.array([1.0, 2.0, 3.0]))] == ["1 ", "2 ", "3 "]


def advantages(*tasks: list[list[float]]) -> np.ndarray:
    """Make the advantages of tasks from the ranks of their points, one list per searcher."""
    ranks = [np.array(task) for task in tasks]
    return np.array([[[(np.sign(other - own)).mean() for other in task] for own in task] for task in ranks])


def test_pairs_count_tasks_and_correct_over_all_pairs() -> None:
    usual, last = [[1.0], [2.0], [3.0]], [[1.0], [1.0], [3.0]]
    found = searcher_pairs(advantages(*[usual] * 5, last), range(6), tested=True)
    assert [(pair.first, pair.second, pair.wins, pair.losses, pair.ties) for pair in found] == [
        *((0, 1, 5, 0, 1), (0, 2, 6, 0, 0), (1, 2, 6, 0, 0)),
    ]
    # Alone: 2 / 32, 2 / 64, 2 / 64; times 3 for the smallest, 2 for the next, never below the one before.
    assert [pair.p for pair in found] == pytest.approx([6 / 64, 6 / 64, 6 / 64])
