"""The search comparison of the paper: success, losses, significance, and its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from cfbench.analysis import (
    MIN_SAMPLE,
    Differences,
    Rate,
    Significance,
    compare_over_blocks,
    compare_samples,
    rate,
)
from cfbench.space import FloatArray
from cfbench_paper.charts import BLUE, INK, BoxPlot, Figure, absent, box_figure, draw
from cfbench_paper.presets import REFERENCE
from cfbench_paper.published import block, points_of
from cfbench_paper.tables import (
    ABSENT,
    DATASETS,
    DISTRIBUTIONS,
    MODELS,
    PARTS,
    ROBUSTNESS,
    SEARCHERS,
    ReportTable,
    TableCell,
    TableRow,
    decimal,
    mean_and_sd,
    printed,
    rows_where,
)


def significance_table(robust: pd.DataFrame, dataset: str) -> ReportTable:
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
    return ReportTable(
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
    rows = robust[robust["model"].isin(MODELS)]
    columns = [f"relative-cost/{part}/{distribution}" for distribution in DISTRIBUTIONS]
    return compare_samples(
        {
            name: rows_where(rows, dataset=dataset, objective=name)[columns].to_numpy(dtype=np.float64).ravel()
            for name in ROBUSTNESS
        }
    )


def p_entry(test: Significance, paper: float | None = None, points: tuple[int, ...] = ()) -> TableCell:
    """Return a test as a cell: its p, or why there is none."""
    sizes = " and ".join(map(str, test.sizes)) if len(test.sizes) <= 2 else ", ".join(map(str, test.sizes))
    printed = "" if paper is None else _written(paper)
    if test.p is None:
        return TableCell(ABSENT, test.reason, printed, points, {"p": None, "statistic": None})
    return TableCell(_written(test.p), f"n = {sizes}", printed, points, {"p": test.p, "statistic": test.statistic})


def _written(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _together() -> str:
    return f"{' and '.join(MODELS.values())}, {' and '.join(DISTRIBUTIONS)} perturbations together".capitalize()


def success_table(searching: pd.DataFrame) -> ReportTable:
    """Return the share of points for which any repetition found a counterfactual: mean over folds, sd."""
    rows = []
    for model, text in MODELS.items():
        for searcher, short in SEARCHERS.items():
            paper = block("success", model, searcher)
            entries = []
            for dataset in DATASETS:
                found = rate_over_folds(rows_where(searching, dataset=dataset, model=model, searcher=searcher), "found")
                entries.append(rate_entry(found, paper.get(dataset), points_of(paper, dataset)))
            rows.append(TableRow((text, short), tuple(entries)))
    return ReportTable(
        "success",
        "Success in finding a counterfactual",
        "Share of points with a counterfactual in any repetition, constraints off: mean over folds ± population "
        "standard deviation (none with one fold); higher is better. With each: points solved of points asked.",
        ("model", "searcher"),
        tuple(DATASETS.values()),
        tuple(rows),
    )


def searchers_table(searching: pd.DataFrame) -> ReportTable:
    """Return Friedman's test of the searchers over data sets, and Nemenyi's of each pair."""
    names, found = searchers_over_datasets(searching)
    rows = [TableRow((SEARCHERS[one],), tuple(_pair(found, one, other) for other in names)) for one in names]
    together = found.together
    p = f"p = {together.p:.3g}" if together.p is not None else f"no test: {together.reason}"
    return ReportTable(
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


def rate_entry(found: Rate, paper: list[float] | None, points: tuple[int, ...]) -> TableCell:
    """Return a rate as a cell."""
    return TableCell(
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


def _pair(found: Differences, one: str, other: str) -> TableCell:
    return TableCell() if one == other or found.together.p is None else p_entry(found.between(one, other))


Z = 1.96
"""Standard errors on either side of a mean that make a 95 % confidence interval."""


def run_times(seconds: Mapping[tuple[str, str, str], FloatArray], model: str) -> Figure:
    """Return mean seconds of a search with 95 % confidence intervals, successful or not."""
    name = f"run-times-{model}"
    title = f"Run times: {MODELS[model]}"
    caption = (
        "Seconds of wall-clock time a search, whether it succeeded or not: mean and 95 % confidence interval, "
        "logarithmic; lower is better. Constraints off."
    )
    found = {
        dataset: {
            searcher: seconds[dataset, model, searcher]
            for searcher in SEARCHERS
            if (dataset, model, searcher) in seconds
        }
        for dataset in DATASETS
    }
    datasets = list(DATASETS)

    def panel(axes: Axes, number: int) -> None:
        _time_panel(axes, found[datasets[number]])

    svg, png = draw(name, list(DATASETS.values()), panel, height=1.25)
    rows = [
        TableRow((SEARCHERS[searcher],), tuple(_time_entry(found[dataset].get(searcher)) for dataset in DATASETS))
        for searcher in SEARCHERS
    ]
    numbers = ReportTable(name, title, f"{caption} n: searches.", ("searcher",), tuple(DATASETS.values()), tuple(rows))
    points = (2, 3, 4, 6, 16) if model == "neural-network" else (3, 4, 6, 16)
    return Figure(name, title, caption, _alt(title, found), svg, png, numbers, block("figures")["run-times"], points)


def relative_loss(searching: pd.DataFrame, model: str) -> Figure:
    """Return the relative change in loss with respect to CoGS, over the points that both solved."""
    panels = {dataset: _changes(searching, dataset, model) for dataset in DATASETS}
    return box_figure(
        f"relative-loss-{model}",
        f"Relative change in loss with respect to CoGS: {MODELS[model]}",
        "(loss - CoGS's loss) / CoGS's loss of the best repetition, over the points that both solved. No unit; lower "
        "is better, below 0 beats CoGS. Constraints off. Boxes: quartiles and median; whiskers: extremes.",
        panels,
        block("figures")["relative-loss"],
        (2, 3, 4, 6, 16) if model == "neural-network" else (3, 4, 6, 16),
        height=1.25,
        reference=0.0,
    )


def _changes(searching: pd.DataFrame, dataset: str, model: str) -> list[BoxPlot]:
    rows = rows_where(searching, dataset=dataset, model=model, found=True)
    losses = {name: rows[rows["searcher"] == name].set_index(["fold", "row_id"])["loss"] for name in SEARCHERS}
    base = losses[REFERENCE]
    boxes = []
    for name, short in SEARCHERS.items():
        if name != REFERENCE:
            change = ((losses[name] - base) / base).dropna().to_numpy(dtype=np.float64)
            boxes.append(BoxPlot(short, short, BLUE, change))
    return boxes


def _time_panel(axes: Axes, found: Mapping[str, FloatArray]) -> None:
    if not found:
        absent(axes)
        return
    for place, sample in enumerate(found.values()):
        mean, half = float(sample.mean()), _half_width(sample)
        axes.errorbar(
            [mean], [place], xerr=[[min(half, mean * 0.999)], [half]], fmt="o", markersize=4, color=BLUE, ecolor=INK
        )
    axes.set_xscale("log")
    means = [float(sample.mean()) for sample in found.values()]
    axes.set_xlim(min(means) / 3, max(means) * 3)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(found)), [SEARCHERS[name] for name in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.grid(visible=True, axis="x", color=INK, alpha=0.15, linewidth=0.5)


def _half_width(sample: FloatArray) -> float:
    return Z * float(sample.std(ddof=1)) / math.sqrt(sample.size) if sample.size > 1 else 0.0


def _time_entry(sample: FloatArray | None) -> TableCell:
    if sample is None:
        return TableCell()
    mean, half = float(sample.mean()), _half_width(sample)
    text = f"{decimal(mean, 3)} s [{decimal(mean - half, 3)}, {decimal(mean + half, 3)}]"
    numbers = {"mean": mean, "low": mean - half, "high": mean + half, "n": sample.size}
    return TableCell(text if sample.size > 1 else f"{decimal(mean, 3)} s", f"n = {sample.size}", numbers=numbers)


def _alt(title: str, found: Mapping[str, Mapping[str, FloatArray]]) -> str:
    says = []
    for dataset, samples in found.items():
        means = {name: float(sample.mean()) for name, sample in samples.items()}
        if means:
            fastest, slowest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            says.append(
                f"{DATASETS[dataset]} from {decimal(means[fastest], 3)} s ({SEARCHERS[fastest]}) to "
                f"{decimal(means[slowest], 3)} s ({SEARCHERS[slowest]})"
            )
    return f"Mean seconds, a data set each. {title}: {'; '.join(says) or 'none'}."
