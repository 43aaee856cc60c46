"""The paper's tables from frames whose numbers can be worked out by hand."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pandas as pd
import pytest

from cfbench.record.store import Record
from cfbench_paper.cost_tables import accident_table
from cfbench_paper.search_tables import searchers_over_datasets, searchers_table, significance_table, success_table
from cfbench_paper.settings_tables import (
    Accuracies,
    accuracy_table,
    datasets_table,
    grids,
    perturbations_table,
    searcher_settings,
    tuned_table,
)
from cfbench_paper.tables import ABSENT, N_FOLDS, ReportTable, TableCell, TableRow, decimal, mean_and_sd
from tests.plugins.paper.records import context, datasets


def texts(table: ReportTable, *heads: str) -> list[str]:
    (row,) = [row for row in table.rows if row.heads == heads]
    return [entry.text for entry in row.entries]


@pytest.fixture
def accuracies(record: Record) -> Accuracies:
    return Accuracies(context(record), datasets())


def test_data_sets_beside_the_paper(accuracies: Accuracies) -> None:
    table = datasets_table(datasets(), accuracies)
    credit = texts(table, "credit (Cre)")
    assert credit[:3] == ["1000; paper 1000", "20; paper 20", "6; paper 6"]
    assert credit[6:8] == ["3, 8, 0; paper 3, 8, 0", "6, 0; paper 6, 0"]
    assert credit[8].endswith("(5 of 5 folds); paper 0.76")  # the same to two digits
    assert texts(table, "income (Inc)")[0] == "-; paper 1883"
    examples = perturbations_table(datasets())
    assert texts(examples, "housing (Hou)", "CRIM") == ["1% / 5%; paper 1% / 5%"]
    assert texts(examples, "credit (Cre)", "savings") == ["10% / 10%; paper 10% / 10%"]
    assert texts(examples, "recidivism (Rec)", "age") == ["-; paper 0 / 2"]


def test_accuracies_come_from_the_tuned_tables(accuracies: Accuracies) -> None:
    found = accuracies.of("credit", "random-forest")
    assert list(found) == list(range(N_FOLDS))
    table = accuracy_table("random-forest", accuracies)
    assert texts(table, "0")[0].startswith(f"{found[0]:.2f}; paper 0.71")
    assert texts(table, "0")[1] == "-; paper 0.86"  # income is not at hand here
    assert texts(table, "mean")[0].endswith("(5 of 5 folds); paper 0.76")  # the same to two digits
    # The paper's networks are no target, and say so where the numbers differ.
    network = [entry for row in accuracy_table("neural-network", accuracies).rows for entry in row.entries]
    assert {entry.differs for entry in network} == {(), (2,)}
    assert "n_estimators" in texts(tuned_table("random-forest", accuracies), "3")[0]
    assert texts(tuned_table("random-forest", accuracies), "3")[1] == "-"


def test_settings_are_the_papers(record: Record) -> None:
    table = searcher_settings(context(record))
    assert texts(table, "CoGS", "Population size") == ["1000; paper 1000"]
    assert texts(table, "DiCE-b", "Loss weights")[0].startswith("0.5, 0.5, 0.0; paper")
    # All but LORE's two choices of library variants are settings here.
    assert [row.heads for row in table.rows if row.entries[0].ours == "-"] == [
        ("LORE", "Discrete use probabilities"),
        ("LORE", "Continuous function estim."),
    ]
    assert texts(grids(context(record)), "neural network", "Max. iterations") == ["200, 1000; paper 200, 1000"]


def test_success_is_a_mean_over_folds() -> None:
    rows = [
        ("credit", "random-forest", "growing-spheres", fold, row, solved, 0.1 if solved else np.nan)
        for fold, outcomes in ((0, [True, False]), (1, [True, True, True, False]))
        for row, solved in enumerate(outcomes)
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "model", "searcher", "fold", "row_id", "found", "loss"])
    table = success_table(frame)
    # (0.5 + 0.75) / 2, population sd 0.125
    assert texts(table, "random forest", "GrSp")[0] == "0.62 ± 0.12 (4 of 6); paper 0.46 ± 0.11 [3]"
    assert texts(table, "random forest", "GrSp")[1] == "-; paper 0.89 ± 0.06"
    assert texts(table, "random forest", "CoGS")[0] == "-; paper 1.00 ± 0.00"


def test_searchers_are_ranked_on_points_that_all_were_asked() -> None:
    losses: dict[str, list[float | None]] = {
        "cogs": [0.1, 0.1, 0.9],
        "lore": [0.2, None, 0.1],
        "nelder-mead": [0.3, None],
    }
    rows = [
        (dataset, "random-forest", searcher, 0, row, loss is not None, np.nan if loss is None else loss)
        for dataset in ("credit", "income", "housing", "productivity", "recidivism")
        for searcher, values in losses.items()
        for row, loss in enumerate(values)
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "model", "searcher", "fold", "row_id", "found", "loss"])
    names, found = searchers_over_datasets(frame)
    assert names == ["cogs", "lore", "nelder-mead"]
    # Ranks of the two shared points: 1 2 3, then 1 2.5 2.5; so 1, 2.25, 2.75 on each of five data sets.
    assert found.together.statistic == pytest.approx(10.0)
    assert found.pairs["cogs", "nelder-mead"].statistic == pytest.approx(2.0)  # mean ranks of 1 2 3
    assert "Friedman's test over 5 data sets: p = 0.00674" in searchers_table(frame).caption
    few = searchers_table(frame[frame["dataset"] == "credit"])
    assert "no test: 1 complete data sets" in few.caption


@pytest.mark.slow
def test_accidents(robust: pd.DataFrame) -> None:
    mine = (robust["dataset"] == "income") & (robust["model"] == "random-forest") & (robust["objective"] == "k")
    robust.loc[mine, "accidental/5"] = [1.0, 0.0, 0.0, 0.0, np.nan, np.nan, np.nan, np.nan]
    robust.loc[mine, "accidental-text/5"] = [1.0, 1.0, 0.0, 0.0, np.nan, np.nan, np.nan, np.nan]
    assert (
        texts(accident_table(robust), "random forest", "K", "5 %")[1]
        == "0.25 (1 of 4); paper 0.40 ± 0.08 [4, 12, 13, 15]"
    )
    text = accident_table(robust, same_changes=False)
    assert texts(text, "random forest", "K", "5 %")[1] == "0.50 (2 of 4)"


def test_significance_takes_models_and_distributions_together(robust: pd.DataFrame) -> None:
    both = ["relative-cost/k/uniform", "relative-cost/k/normal"]
    robust.loc[robust["objective"] == "none", both] += 1.0
    table = significance_table(robust, "credit")
    assert texts(table, "None / K")[1] == "< 0.001 (n = 32 and 32); paper < 0.001"
    assert texts(table, "None / C")[1] == "< 0.001 (n = 32 and 32); paper 0.520 [2, 4, 5, 9, 10, 12, 13]"
    assert texts(table, "C / K")[1] == "1.000 (n = 32 and 32); paper < 0.001 [2, 4, 5, 9, 10, 12, 13]"
    assert texts(table, "together (Kruskal-Wallis)")[1] == "< 0.001 (n = 32, 32, 32, 32)"
    absent = significance_table(robust, "housing")
    assert texts(absent, "None / C")[0] == "- (none and c have fewer than 5 values); paper < 0.001"


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
