"""How many searches travel together, worked out by hand."""

from __future__ import annotations

from typing import Any

from cfbench.registry.events import CellInfo
from cfbench.running.estimate import TARGET, BatchSizes


def info(key: str, **changes: Any) -> CellInfo:
    place: dict[str, Any] = {"dataset": "a", "model": "m", "searcher": "s", "objective": "o", "constraints": False}
    return CellInfo(key, **{**place, "fold": 0, **changes})


def test_the_size_doubles_until_a_batch_takes_a_quarter_of_a_second() -> None:
    assert TARGET == 0.25
    sizes = BatchSizes()
    seen = []
    for _ in range(10):
        size = sizes.size(info("1"), None)
        seen.append(size)
        sizes.returned(info("1"), [0.002] * size)
    assert seen == [1, 2, 4, 8, 16, 32, 64, 125, 125, 125]


def test_one_long_search_is_enough_for_the_others_to_travel_alone() -> None:
    sizes = BatchSizes()
    for _ in range(5):
        sizes.returned(info("1"), [0.001] * sizes.size(info("1"), None))
    assert sizes.size(info("1"), None) == 32
    sizes.returned(info("1"), [0.001, 60.0])
    assert sizes.size(info("1"), None) == 1
    # It fades: 60 s * 0.9 ** 40 is 0.9 s, and ten searches later 0.3 s.
    sizes.returned(info("1"), [0.001] * 40)
    assert sizes.size(info("1"), None) == 1
    sizes.returned(info("1"), [0.001] * 40)
    assert sizes.size(info("1"), None) == 19


def test_a_new_cell_starts_with_what_its_searcher_has_shown_elsewhere() -> None:
    sizes = BatchSizes()
    for _ in range(4):
        sizes.returned(info("1"), [0.01] * sizes.size(info("1"), None))
    assert sizes.size(info("2", fold=1), None) == 25
    assert sizes.size(info("3", searcher="t"), None) == 1
    sizes.returned(info("2", fold=1), [0.5])
    assert sizes.size(info("4", fold=2), None) == 1


def test_a_batch_stays_far_from_the_limit_that_it_has_as_a_whole() -> None:
    sizes = BatchSizes()
    for _ in range(8):
        sizes.returned(info("1"), [0.001] * sizes.size(info("1"), 0.4))
    assert sizes.size(info("1"), 0.4) == 100
    assert sizes.size(info("1"), 0.002) == 1
    assert sizes.size(info("1"), 60.0) == 200
