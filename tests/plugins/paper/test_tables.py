from __future__ import annotations

import csv
import io
import math

import pytest

from cfbench_paper.tables import ABSENT, ReportTable, TableCell, TableRow, decimal, mean_and_sd

TABLE = ReportTable(
    "shares",
    "Shares",
    "Share of points.",
    ("model",),
    ("Cre", "Inc"),
    (
        TableRow(
            ("forest|net",),
            (
                TableCell("0.50", "5 of 10", "0.46 ± 0.11", (3,), {"mean": 0.5, "n": 10}),
                TableCell(paper="1.00", points=(2,)),
            ),
        ),
        TableRow(("=cmd()",), (TableCell("1.00 ± 0.00", paper="1.00 ± 0.05", points=(4,)), TableCell("0.25"))),
    ),
    ("A note.",),
)


def test_a_difference_is_named_only_where_the_numbers_differ() -> None:
    assert TableCell("0.50", paper="0.46", points=(3,)).differs == (3,)
    assert (
        TableCell("0.46 ± 0.02", paper="0.46 ± 0.11", points=(3,)).differs == ()
    )  # only the spread over folds differs
    assert TableCell(paper="0.46", points=(3,)).differs == ()  # ours is absent
    assert TableCell("0.50", points=(3,)).differs == ()  # the paper prints nothing
    assert TABLE.points == (3,)


def test_markdown() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "### Shares"
    assert lines[4:8] == [
        "| model | Cre | Inc |",
        "| --- | --- | --- |",
        "| forest\\|net | 0.50 (5 of 10); paper 0.46 ± 0.11 [3] | -; paper 1.00 |",
        "| =cmd() | 1.00 ± 0.00; paper 1.00 ± 0.05 | 0.25 |",
    ]
    assert lines[-1] == "- A note."


def test_csv_holds_a_cell_a_line_unrounded_and_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert len(rows) == 4
    assert rows[0] == {
        "model": "forest|net",
        "column": "Cre",
        "ours": "0.50",
        "counted over": "5 of 10",
        "paper": "0.46 ± 0.11",
        "differences": "3",
        "mean": "0.5",
        "n": "10",
    }
    assert rows[2]["model"] == "'=cmd()"
    assert rows[3]["mean"] == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ABSENT), (math.nan, ABSENT), (0.125, "0.12"), (1234.5, "1,234"), (-0.001, "0.00"), (-0.5, "-0.50")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert decimal(value) == text


def test_a_mean_without_a_spread() -> None:
    assert mean_and_sd(0.5, None) == "0.50"
    assert mean_and_sd(None, None) == ABSENT
