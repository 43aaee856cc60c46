"""Whether notions of robustness lead to different relative costs: the paper's appendix on statistical significance."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from cfbench.analysis.significance import MIN_SAMPLE, Differences, Significance, compare_samples
from cfbench.report.names import DATASETS, DISTRIBUTIONS, MODELS, PARTS, ROBUSTNESS
from cfbench.report.published import block, points_of
from cfbench.report.tables import ABSENT, Entry, Table, TableRow
from cfbench.space import FloatArray


def significance_table(robust: pd.DataFrame, dataset: str) -> Table:
    """Return the p-values of a data set: a pair of objectives a row, the perturbed part a column."""
    tests = {part: differences(robust, dataset, part) for part in PARTS}
    together = [p_entry(tests[part].together) for part in PARTS]
    rows = [TableRow(("together (Kruskal-Wallis)",), tuple(together))]
    for one, other in combinations(ROBUSTNESS, 2):
        entries = []
        for part in PARTS:
            paper = block("significance", dataset, part)
            entries.append(p_entry(tests[part].between(one, other), paper[f"{one}-{other}"], points_of(paper)))
        rows.append(TableRow((f"{ROBUSTNESS[one]} / {ROBUSTNESS[other]}",), tuple(entries)))
    short = DATASETS[dataset]
    return Table(
        f"significance-{dataset}",
        f"Significance of differences in relative cost, {short}",
        f"p-values for {short}: Kruskal-Wallis of the four notions of robustness that the search accounts for, then "
        f"Mann-Whitney U of each two with Holm's correction, by the part that is perturbed. {_together()}. n: "
        "relative costs.",
        ("robustness accounted for",),
        tuple(f"perturbed: {text}" for text in PARTS.values()),
        tuple(rows),
        (
            "The paper prints no p for the four together: “much below 0.01” everywhere.",
            f"What has fewer than {MIN_SAMPLE} values takes part in no test; n says how many the four have.",
            "A point gives a value for each model and distribution, as in the paper; the tests take them for "
            "independent, which makes small p-values somewhat too small.",
        ),
    )


def differences(robust: pd.DataFrame, dataset: str, part: str) -> Differences:
    """Test the relative costs of a data set under perturbations to a part."""
    rows = robust[(robust["dataset"] == dataset) & robust["model"].isin(MODELS)]
    return compare_samples({name: _costs(rows[rows["objective"] == name], part) for name in ROBUSTNESS})


def p_entry(test: Significance, paper: float | None = None, points: tuple[int, ...] = ()) -> Entry:
    """Return a test as a cell: its p, or why there is none."""
    sizes = " and ".join(map(str, test.sizes)) if len(test.sizes) <= 2 else ", ".join(map(str, test.sizes))
    printed = "" if paper is None else _written(paper)
    if test.p is None:
        return Entry(ABSENT, test.reason, printed, points, {"p": None, "statistic": None})
    return Entry(_written(test.p), f"n = {sizes}", printed, points, {"p": test.p, "statistic": test.statistic})


def _written(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _costs(rows: pd.DataFrame, part: str) -> FloatArray:
    columns = [f"relative-cost/{part}/{distribution}" for distribution in DISTRIBUTIONS]
    values: FloatArray = rows[columns].to_numpy(dtype=np.float64).ravel()
    return values


def _together() -> str:
    return f"{' and '.join(MODELS.values())}, {' and '.join(DISTRIBUTIONS)} perturbations together".capitalize()
