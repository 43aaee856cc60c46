"""Shards: disjoint, complete, even, and the same wherever they are asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cfbench.errors import StudyError
from cfbench.study.plan import Plan
from cfbench.study.shard import Shard, shard_of

if TYPE_CHECKING:
    from tests.toys.runs import Toys


def plan_of(toys: Toys, results: Path, **changes: object) -> Plan:
    asked: dict[str, object] = {
        "searchers": ("toy-dice", "toy-dice[rows=40]", "toy-both"),
        "constraints": (False, True),
        "folds": (0, 1, 2, 3, 4),
    }
    return toys.plan(results, **{**asked, **changes})


@pytest.mark.parametrize("of", [1, 2, 3, 7, 16, 30, 31])
def test_shards_are_disjoint_complete_and_even(toys: Toys, tmp_path: Path, of: int) -> None:
    plan = plan_of(toys, tmp_path)
    shards = [shard_of(plan, Shard(number, of)) for number in range(1, of + 1)]
    keys = [cell.info.key for shard in shards for cell in shard.cells]
    assert len(keys) == 30
    assert set(keys) == {cell.info.key for cell in plan.cells}
    sizes = [len(shard.cells) for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    counts = [Counter(cell.info.searcher for cell in shard.cells) for shard in shards]
    for searcher in ("toy-dice", "toy-dice[rows=40]", "toy-both"):
        assert max(c[searcher] for c in counts) - min(c[searcher] for c in counts) <= 1


def test_a_shard_does_not_depend_on_the_order_in_the_study(toys: Toys, tmp_path: Path) -> None:
    turned = plan_of(toys, tmp_path, searchers=("toy-both", "toy-dice[rows=40]", "toy-dice"), folds=(4, 2, 0, 1, 3))
    for number in (1, 2, 3):
        one = shard_of(plan_of(toys, tmp_path), Shard(number, 3))
        other = shard_of(turned, Shard(number, 3))
        assert {cell.info.key for cell in one.cells} == {cell.info.key for cell in other.cells}
        assert one.notes[-1] == other.notes[-1]


def test_a_shards_cells_keep_the_plans_order(toys: Toys, tmp_path: Path) -> None:
    plan = plan_of(toys, tmp_path)
    places = {cell.info.key: place for place, cell in enumerate(plan.cells)}
    shard = [places[cell.info.key] for cell in shard_of(plan, Shard(2, 4)).cells]
    assert shard == sorted(shard)


def test_shards_of_different_plans_say_so(toys: Toys, tmp_path: Path) -> None:
    notes = {shard_of(plan_of(toys, tmp_path, folds=folds), Shard(1, 2)).notes[-1] for folds in [(0,), (1,)]}
    assert len({note.rpartition(" ")[2] for note in notes}) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3", "write NUMBER/OF, as in 3/16"),
        ("a/b", "write NUMBER/OF"),
        ("-1/4", "write NUMBER/OF"),
        ("1/2/3", "write NUMBER/OF"),
        ("", "write NUMBER/OF"),
        ("0/16", "from 1 to 16 (shards are counted from 1"),
        ("17/16", "from 1 to 16"),
        ("0/0", "from 1 to 1"),
    ],
)
def test_what_is_no_shard_is_refused(text: str, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        Shard.parse(text)
    assert words in str(caught.value)
    assert repr(text) in str(caught.value)


def test_a_shard_is_read_and_has_a_directory_of_its_own() -> None:
    shard = Shard.parse(" 3/16 ")
    assert (shard, str(shard)) == (Shard(3, 16), "3/16")
    assert shard.results(Path("a/results")) == Path("a/results-shard-03-of-16")
