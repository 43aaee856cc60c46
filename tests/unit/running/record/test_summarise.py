"""Summaries against numbers worked out by hand, and their way through the index."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cfbench.record.cell_line import CellLine, done_of, summary_of
from cfbench.record.lines import pack
from cfbench.record.rows import checked_row
from cfbench.record.summarise import summarise
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]


def test_a_summary_by_hand(make_row: MakeRow, info: CellInfo) -> None:
    given = [
        make_row(0, 0, loss=0.5, objective_value=0.7, search_queries=10),
        make_row(0, 1, loss=0.6, objective_value=0.4, wall_seconds=0.5, search_queries=20),  # the result
        make_row(0, 2, loss=0.1, objective_value=0.4),  # ties with the one before
        make_row(2, 0, "not_found"),
        make_row(2, 1, "budget_exhausted", loss=0.3, objective_value=0.35, model_fingerprint="e" * 32),
        make_row(5, 0, "crashed"),
    ]
    summary = summarise(info, {"a": 1}, 60, reversed([checked_row(row) for row in given]))
    assert summary.eligible == 60
    assert summary.repetitions == 3
    assert summary.searches == 6
    assert summary.statuses == {"budget_exhausted": 1, "crashed": 1, "found": 3, "not_found": 1}
    assert summary.row_ids == (100, 102, 105)
    assert summary.tries == (3, 2, 1)
    assert summary.successes == (3, 1, 0)
    assert summary.loss == (0.6, 0.3, None)
    assert summary.objective_value == (0.4, 0.35, None)
    assert summary.seconds == (0.5, 0.25, None)
    assert summary.queries == (84, 164, None)
    assert summary.search_queries == 430
    assert summary.robustness_queries == 6 * 64
    assert summary.wall_seconds == 1.75
    assert summary.cpu_seconds == 0.75
    assert summary.fingerprints == ("e" * 32, "f" * 32)
    assert (summary.info, summary.content, summary.skipped, summary.failure) == (info, {"a": 1}, "", "")


def test_without_searches_there_is_nothing_to_sum_up(info: CellInfo) -> None:
    summary = summarise(info, {}, 0, [])
    assert (summary.searches, summary.repetitions, summary.loss) == (0, 0, ())


def test_a_success_without_an_objective_value_ranks_last(make_row: MakeRow, info: CellInfo) -> None:
    given = [make_row(0, 0, loss=0.1, objective_value=None), make_row(0, 1, loss=0.2, objective_value=9.0)]
    assert summarise(info, {}, 1, map(checked_row, given)).loss == (0.2,)


def test_a_line_of_the_index_gives_all_back(make_row: MakeRow, info: CellInfo) -> None:
    given = [checked_row(make_row(p, r, "found" if p != 3 else "crashed")) for p in range(6) for r in range(2)]
    given.append(checked_row(make_row(9, 0, loss=0.1, objective_value=float("inf"))))
    summary = summarise(info, {"settings": {"m": 4, "names": ["a"]}}, 60, given)
    done = {(row["point"], row["repetition"]): row["status"] for row in given}
    line = json.loads(pack(CellLine(summary, "12-abc", done).content()))
    assert summary_of(line) == summary
    assert done_of(line) == done
    assert line["done"] == [
        ["found", 0, 0, 2], ["crashed", 0, 3, 3], ["found", 0, 4, 5], ["found", 0, 9, 9],
        ["found", 1, 0, 2], ["crashed", 1, 3, 3], ["found", 1, 4, 5],
    ]  # fmt: skip
