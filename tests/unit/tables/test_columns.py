"""What columns hold, and the intervals and steps of numbers, against values worked out by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from cfbench.tables.columns import TextColumn, common_step, objection, reason_to_ignore, rounded_outwards


@pytest.mark.parametrize(
    ("values", "interval", "unit"),
    [
        ([19, 75], (15, 75), 5),  # a tenth is 5.6
        ([0.03, 0.97], (0, 1), "0.05"),  # a tenth is 0.094
        ([0, 1], (0, 1), "0.1"),
        ([-7.5, 12], (-8, 12), 1),  # a tenth is 1.95
        ([0, 1234567], (0, 1300000), 100000),
        ([1e-7, 3e-7], ("0.0000001", "0.0000003"), "0.00000002"),
        ([1e15, 1e15 + 10], (10**15, 10**15 + 10), 1),
    ],
)
def test_intervals_are_rounded_outwards(values: list[float], interval: tuple[Any, Any], unit: Any) -> None:
    lower, upper, found = rounded_outwards(values, None)
    assert (lower, upper, found) == (Decimal(interval[0]), Decimal(interval[1]), Decimal(unit))


@pytest.mark.parametrize(
    ("values", "step", "interval"),
    [
        ([1, 4], 1, (1, 4)),  # a tenth is 0.3, less than the step
        ([0, 55], 5, (0, 55)),
        ([25, 1000], 25, (0, 1000)),  # a tenth is 97.5, and 50 is a multiple of 25
        ([30, 1000], 30, (0, 1020)),  # 50 is no multiple of 30; 60 is
    ],
)
def test_bounds_are_multiples_of_the_step(values: list[float], step: int, interval: tuple[int, int]) -> None:
    assert rounded_outwards(values, Decimal(step))[:2] == (Decimal(interval[0]), Decimal(interval[1]))


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1, 2, 7], "1"),
        ([100, 250, 400], "50"),
        ([1000, 3000], "1000"),
        ([2, 4, 8], "1"),  # twos are an accident
        ([0, 10, 35], "5"),
        ([0.5, 1.25], "0.05"),
        ([0.1, 0.3], "0.1"),
        ([19.99, 5], "0.01"),
        ([0.123, 1], None),
        ([1e17, 3], None),  # too fine for so large numbers
        ([-3, 0, 4], "1"),
    ],
)
def test_steps(values: list[float], step: str | None) -> None:
    assert common_step(sorted(map(float, values))) == (None if step is None else Decimal(step))


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("id", ["7", "3", "9", "4", "11"], "it is an identifier by its name"),
        ("customer_id", ["7", "3", "9", "4", "11"], "it is an identifier by its name"),
        ("customerId", ["a", "b", "c", "d", "e"], "it is an identifier by its name"),
        ("paid", ["7", "3", "9", "4", "11"], ""),
        ("user id", [f"{row // 2}" for row in range(200)], "it is an identifier by its name"),  # two rows for each
        ("id", ["1", "2"] * 5, ""),  # few values
        ("row", ["1", "2", "3", "4", "5"], "it counts the rows"),
        ("row", ["5", "3", "4", "2", "1"], "it counts the rows"),
        ("row", ["17", "18", "19", "20", "21"], "it counts the rows"),
        ("age", ["21", "18", "17", "20", "19"], ""),
        ("code", [f"K-{row:04}" for row in range(6)], "it is an identifier: a different one per row, such as 'K-0000'"),
        ("name", ["Anna", "Bert", "Carl", "Dora", "Emil"], ""),
        ("branch", ["Köln"] * 9, "all its values are 'Köln'"),
        ("branch", ["1", "1.0", "1.00"], "all its values are '1'"),
        ("branch", ["Köln", ""], ""),  # the gap may mean something
        ("empty", ["", "NA"], "it is empty"),
        (
            "key",
            [f"{row}1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4be{row}"[1:] for row in range(6)],
            "it is an identifier: a different one per row, such as '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4be0'",
        ),
    ],
)
def test_identifiers_and_constants_are_ignored(name: str, cells: list[str], reason: str) -> None:
    assert reason_to_ignore(TextColumn(name, cells)) == reason


@pytest.mark.parametrize(
    "date",
    ["2021-03-04", "2021-03-04 12:30:00", "4.3.2021", "04/03/21", "12:30", "20210304", "4 Mar 2021", "March 4, 2021"],
)
def test_dates_are_refused_with_what_to_do(date: str) -> None:
    said = objection(TextColumn("applied", [date] * 30, tuple(range(2, 32))))
    assert said.startswith(f"it holds dates or times ({date!r}, line 2)")
    assert "days before a fixed day, or ignore the column" in said


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"p{row}@x.org" for row in range(30)], "it holds e-mail addresses, 30 different ones in 30 rows ('p0@x.org'"),
        ([f"Person {chr(65 + row)}" for row in range(20)], "it holds texts, 20 different ones in 20 rows"),
        ([str(row % 60) + "x" for row in range(600)] + ["abc"], "it has numbers with signs or units ('0x'"),
        ([f"{row / 7:.3f}" for row in range(99)] + ["none", "none"], "and 2 cells that are not: 'none', line 101."),
        (
            [f"{row} %" for row in range(99)],
            "it has numbers with signs or units ('0 %', line 2). Leave only the number",
        ),
        ([f"{row:05}" for row in range(99)], "it holds 99 codes with leading zeros ('00000', line 2)"),
        ([f"{row}.5" for row in range(99)] + ["1,5"], "and 1 cell that are not or have another decimal sign: '1,5'"),
        (["1", "2", "1e999"], "'1e999', line 4 is larger than the largest number"),
    ],
)
def test_columns_that_are_no_category_are_refused(cells: list[str], words: str) -> None:
    assert words in objection(TextColumn("column", cells, tuple(range(2, 2 + len(cells)))))
