"""Which searcher succeeds how often, and whether searchers differ over data sets."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfbench.analysis.aggregate import Rate, rate
from cfbench.analysis.significance import Differences, compare_over_blocks
from cfbench.report.names import DATASETS, MODELS, SEARCHERS
from cfbench.report.published import block, points_of
from cfbench.report.significance_tables import p_entry
from cfbench.report.tables import Entry, Table, TableRow, mean_and_sd, printed


def success_table(searching: pd.DataFrame) -> Table:
    """Return the share of points for which any repetition found a counterfactual: mean over folds, sd."""
    rows = []
    for model, text in MODELS.items():
        for searcher, short in SEARCHERS.items():
            paper = block("success", model, searcher)
            entries = []
            for dataset in DATASETS:
                mine = searching[
                    (searching["dataset"] == dataset)
                    & (searching["model"] == model)
                    & (searching["searcher"] == searcher)
                ]
                entries.append(
                    rate_entry(rate_over_folds(mine, "found"), paper.get(dataset), points_of(paper, dataset))
                )
            rows.append(TableRow((text, short), tuple(entries)))
    return Table(
        "success",
        "Success in finding a counterfactual",
        "Share of points with a counterfactual in any repetition, constraints off: mean over folds ± population "
        "standard deviation (none with one fold); higher is better. With each: points solved of points asked.",
        ("model", "searcher"),
        tuple(DATASETS.values()),
        tuple(rows),
    )


def searchers_table(searching: pd.DataFrame) -> Table:
    """Return Friedman's test of the searchers over data sets, and Nemenyi's of each pair."""
    names, found = searchers_over_datasets(searching)
    rows = [TableRow((SEARCHERS[one],), tuple(_pair(found, one, other) for other in names)) for one in names]
    together = found.together
    p = f"p = {together.p:.3g}" if together.p is not None else f"no test: {together.reason}"
    return Table(
        "searchers-over-data-sets",
        "Do searchers differ over data sets?",
        f"Friedman's test over {together.sizes[0]} data sets: {p}. Cells: p of Nemenyi's test for the two searchers. "
        "A data set's value is a searcher's mean rank by loss over the points that all of them were asked, both models "
        "together; what was not found ranks last.",
        ("searcher",),
        tuple(SEARCHERS[name] for name in names),
        tuple(rows),
        ("The paper makes no such test. A pair's p depends on which other searchers take part.",),
    )


def searchers_over_datasets(searching: pd.DataFrame) -> tuple[list[str], Differences]:
    """Test the searchers that every data set of the record has; data sets that lack one are left out."""
    names = [name for name in SEARCHERS if name in set(searching["searcher"])]
    values = [_mean_ranks(searching[searching["dataset"] == dataset], names) for dataset in DATASETS]
    return names, compare_over_blocks(names, np.array(values).reshape(-1, len(names)))


def rate_over_folds(rows: pd.DataFrame, column: str) -> Rate:
    """Return the rate of a column of 0 and 1 over folds; NaN is outside the denominator."""
    inside = rows[rows[column].notna()]
    folds = inside.groupby("fold")[column]
    return rate([(int(values.sum()), len(values)) for _, values in folds])


def rate_entry(found: Rate, paper: list[float] | None, points: tuple[int, ...]) -> Entry:
    """Return a rate as a cell."""
    return Entry(
        mean_and_sd(found.mean, found.sd),
        f"{found.k} of {found.n}" if found.n else "",
        printed(paper),
        points,
        {"mean": found.mean, "sd": found.sd, "k": found.k, "n": found.n},
    )


def _mean_ranks(rows: pd.DataFrame, names: list[str]) -> list[float]:
    table = rows.assign(loss=rows["loss"].where(rows["found"], np.inf)).pivot_table(
        index=["model", "fold", "row_id"], columns="searcher", values="loss", aggfunc="first"
    )
    shared = table.reindex(columns=names).dropna()
    return list(shared.rank(axis=1).mean()) if len(shared) else [np.nan] * len(names)


def _pair(found: Differences, one: str, other: str) -> Entry:
    return Entry() if one == other or found.together.p is None else p_entry(found.between(one, other))
