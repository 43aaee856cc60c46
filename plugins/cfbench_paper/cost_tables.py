"""Costs of robustness: boxes, curves over the number of samples, and accidental robustness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from cfbench.space import FloatArray
from cfbench_paper.charts import COLOURS, INK, BoxPlot, Figure, absent, box_figure, draw
from cfbench_paper.published import block, points_of
from cfbench_paper.search_tables import rate_entry, rate_over_folds
from cfbench_paper.tables import (
    ABSENT,
    DATASETS,
    DISTRIBUTIONS,
    MODELS,
    PARTS,
    ROBUSTNESS,
    SAMPLES,
    TOLERANCES,
    ReportTable,
    TableCell,
    TableRow,
    decimal,
    mean_and_sd,
    rows_where,
)

WITHOUT = {"k": "none", "ck": "c"}
"""What an objective is without any samples."""


def of_samples(rows: pd.DataFrame, part: str, m: int) -> pd.DataFrame:
    """Return the rows of searches for `part` (k or ck) with `m` samples; with 0, of those that leave K out."""
    if m == 0:
        return rows[rows["robustness"] == WITHOUT[part]]
    return rows[(rows["robustness"] == part) & (rows["m"] == m)]


def relative_cost(robust: pd.DataFrame, model: str, distribution: str, *, published: bool = False) -> Figure:
    """Return the actual cost after perturbations over the ideal cost, one panel per data set.

    `published`: in the reading of the published experiments.
    """
    metric = "relative-cost-published" if published else "relative-cost"
    mine = robust[robust["model"] == model]

    def boxes(dataset: str) -> list[BoxPlot]:
        return [
            BoxPlot(
                text,
                PARTS[part].replace(" and ", ""),
                COLOURS[part],
                _values(mine, dataset, objective, f"{metric}/{part}/{distribution}"),
            )
            for objective, text in ROBUSTNESS.items()
            for part in PARTS
        ]

    reading = (
        "in the published reading: over the loss of the result itself, setbacks in raw units, the mean for K over "
        "invalidated draws alone, C and K the sum of both"
        if published
        else "over the ideal cost (that of the result when nothing is accounted for), all draws, walking back as if it "
        "were always allowed"
    )
    points = {12, 13, 14} | (set() if published else {1, 9, 10, 11})
    points |= ({2} if model == "neural-network" else set()) | ({5} if distribution == "normal" else set())
    return box_figure(
        f"{metric}-{model}-{distribution}",
        f"Relative cost{', the published reading' if published else ''}: {MODELS[model]}, {distribution} perturbations",
        f"Cost of reaching the result, {distribution} perturbations included, {reading}. No unit; 1 is ideal, lower is "
        "better. Bold: what the search accounts for; above it what is perturbed. Boxes: quartiles and median over "
        "points; whiskers: extremes. The table of relative costs has the share of draws that cannot be walked back.",
        {dataset: boxes(dataset) for dataset in DATASETS},
        block("figures")["relative-cost"],
        tuple(sorted(points)),
        height=1.5,
    )


def relative_cost_table(robust: pd.DataFrame) -> ReportTable:
    """Return mean relative costs with the share of draws that cannot be walked back and the published reading."""
    rows = []
    for dataset, short in DATASETS.items():
        for part, perturbed in PARTS.items():
            for objective, text in ROBUSTNESS.items():
                mine = rows_where(robust, dataset=dataset, objective=objective)
                share = [1.0 - values for values in _columns(mine, "fixability", part)]
                ours, published = (_columns(mine, name, part) for name in ("relative-cost", "relative-cost-published"))
                entries = tuple(_mean_entry(values) for values in (ours, share, published))
                rows.append(TableRow((short, perturbed, text), entries))
    return ReportTable(
        "relative-cost",
        "Relative cost, what cannot be walked back, and the published reading",
        "Means over points, both distributions and both models, which count alike. Relative cost: over all draws, "
        "walking back as if it were always allowed, over the ideal cost. Published reading: over the loss of the "
        "result itself, setbacks in raw units, the mean for K over invalidated draws alone, C and K the sum of both. "
        "In brackets: medians. n: values.",
        ("data set", "perturbed", "accounted for"),
        ("relative cost", "cannot be walked back", "published reading"),
        tuple(rows),
        ("The paper prints no numbers: about 5 to 10 without accounting for robustness, over 100 on Inc for C.",),
    )


def cost_of_robustness(robust: pd.DataFrame, model: str) -> Figure:
    """Return the cost of results over the ideal cost where nothing is perturbed."""
    mine = robust[robust["model"] == model]
    panels = {
        dataset: [
            BoxPlot(text, text, COLOURS[objective], _values(mine, dataset, objective, "cost-of-robustness"))
            for objective, text in ROBUSTNESS.items()
            if objective != "none"
        ]
        for dataset in DATASETS
    }
    return box_figure(
        f"cost-of-robustness-{model}",
        f"Cost of accounting for robustness: {MODELS[model]}",
        "Cost of the result over the ideal cost, nothing perturbed. No unit; lower is better; below 1 the search for "
        "the ideal cost missed the best. Below the boxes: what the search accounts for.",
        panels,
        block("figures")["cost-of-robustness"],
        (2, 4, 12, 13) if model == "neural-network" else (4, 12, 13),
        height=1.2,
    )


def added_cost(robust: pd.DataFrame, model: str) -> Figure:
    """Return the cost of results over the ideal cost for each number of samples."""
    mine = robust[robust["model"] == model]

    def boxes(dataset: str) -> list[BoxPlot]:
        rows = mine[mine["dataset"] == dataset]
        return [
            BoxPlot(
                PARTS[part],
                str(m),
                COLOURS[part],
                of_samples(rows, part, m)["cost-of-robustness"].dropna().to_numpy(np.float64),
            )
            for part in ("k", "ck")
            for m in SAMPLES
        ]

    return box_figure(
        f"added-cost-{model}",
        f"Cost against the number of samples m: {MODELS[model]}",
        "Cost of the result over the ideal cost, nothing perturbed, for m = 0, 4, 16 and 64 samples. No unit; lower is "
        "better. Bold: what the search accounts for; m = 0 is nothing for K and C alone for C and K.",
        {dataset: boxes(dataset) for dataset in DATASETS},
        block("figures")["added-cost"],
        (2, 4, 12, 13) if model == "neural-network" else (4, 12, 13),
        height=1.4,
    )


def _values(rows: pd.DataFrame, dataset: str, objective: str, column: str) -> FloatArray:
    return rows_where(rows, dataset=dataset, objective=objective)[column].dropna().to_numpy(np.float64)


def _columns(rows: pd.DataFrame, metric: str, part: str) -> list[FloatArray]:
    """Return the values of a metric about a part, both distributions together, by model."""
    columns = [f"{metric}/{part}/{distribution}" for distribution in DISTRIBUTIONS]
    found = [rows.loc[rows["model"] == model, columns].to_numpy(np.float64).ravel() for model in MODELS]
    return [values[np.isfinite(values)] for values in found]


def _mean_entry(by_model: list[FloatArray]) -> TableCell:
    """Return the mean of the models' means, and the median of all values."""
    kept = [values for values in by_model if values.size]
    if not kept:
        return TableCell()
    together = np.concatenate(kept)
    mean, median = float(np.mean([values.mean() for values in kept])), float(np.median(together))
    numbers = {"mean": mean, "median": median, "n": together.size}
    return TableCell(f"{decimal(mean)} [{decimal(median)}]", f"n = {together.size}", numbers=numbers)


SERIES = {"k": "K", "ck": "C and K"}


def k_score(robust: pd.DataFrame, model: str) -> Figure:
    """Return the K-robustness score of results against the number of samples that the search took."""
    return _curves(
        f"k-score-{model}",
        f"K-robustness against m: {MODELS[model]}",
        "K-robustness score of the results with 1,000 samples, for searches with m = 0, 4, 16 and 64; 1 is best. Mean "
        "over points; shaded: standard deviation. m = 0 accounts for nothing (K) or for C alone (C and K).",
        robust[robust["model"] == model],
        "k-robustness",
        block("figures")["k-score"],
        (2, 12, 13) if model == "neural-network" else (12, 13),
        limits=(0.0, 1.02),
    )


def added_time(robust: pd.DataFrame, model: str) -> Figure:
    """Return the seconds beyond a search that accounts for nothing against the number of samples."""
    return _curves(
        f"added-time-{model}",
        f"Added run time against m: {MODELS[model]}",
        "Seconds of a search beyond the one that accounts for nothing, for m = 0, 4, 16 and 64 samples; 0 is best. "
        "Mean over points; shaded: standard deviation. m = 0 of C and K accounts for C alone: what C takes.",
        robust[robust["model"] == model],
        "time-of-robustness",
        block("figures")["added-time"],
        (2, 13) if model == "neural-network" else (13,),
    )


def _curves(
    name: str,
    title: str,
    caption: str,
    rows: pd.DataFrame,
    column: str,
    says: str,
    points: tuple[int, ...],
    *,
    limits: tuple[float, float] | None = None,
) -> Figure:
    datasets = list(DATASETS)

    def values(dataset: str, part: str, m: int) -> FloatArray:
        return of_samples(rows[rows["dataset"] == dataset], part, m)[column].dropna().to_numpy(np.float64)

    def panel(axes: Axes, number: int) -> None:
        _panel(axes, lambda part, m: values(datasets[number], part, m))
        if limits is not None and axes.axison:
            axes.set_ylim(*limits)
        if number == 0 and axes.axison:
            axes.legend(loc="best", ncols=2)

    svg, png = draw(name, list(DATASETS.values()), panel, height=1.25)
    table = [
        TableRow((DATASETS[dataset], text), tuple(_entry(values(dataset, part, m)) for m in SAMPLES))
        for dataset in DATASETS
        for part, text in SERIES.items()
    ]
    numbers = ReportTable(
        name,
        title,
        f"{caption} n: points.",
        ("data set", "accounted for"),
        tuple(f"m = {m}" for m in SAMPLES),
        tuple(table),
    )
    return Figure(name, title, caption, _alt(title, numbers), svg, png, numbers, says, points)


def _panel(axes: Axes, values: Callable[[str, int], FloatArray]) -> None:
    # m grows fourfold from step to step, so the steps are equally wide, as in the paper.
    drawn = False
    for (part, text), line in zip(SERIES.items(), ("-", "--"), strict=True):
        found = [(step, values(part, m)) for step, m in enumerate(SAMPLES)]
        found = [(step, sample) for step, sample in found if sample.size]
        if not found:
            continue
        drawn = True
        steps = [step for step, _ in found]
        means = np.array([sample.mean() for _, sample in found])
        spreads = np.array([sample.std() for _, sample in found])
        axes.fill_between(steps, means - spreads, means + spreads, color=COLOURS[part], alpha=0.18, linewidth=0)
        axes.plot(steps, means, line, marker="o", markersize=3.5, color=COLOURS[part], label=text)
    if not drawn:
        absent(axes)
        return
    axes.set_xticks(range(len(SAMPLES)), [str(m) for m in SAMPLES])
    axes.set_xlim(-0.3, len(SAMPLES) - 0.7)
    axes.grid(visible=True, axis="y", color=INK, alpha=0.15, linewidth=0.5)


def _entry(sample: FloatArray) -> TableCell:
    if not sample.size:
        return TableCell()
    mean, sd = float(sample.mean()), float(sample.std())
    return TableCell(mean_and_sd(mean, sd), f"n = {sample.size}", numbers={"mean": mean, "sd": sd, "n": sample.size})


def _alt(title: str, numbers: ReportTable) -> str:
    says = []
    for row in numbers.rows:
        first, last = (entry.numbers.get("mean") for entry in (row.entries[0], row.entries[-1]))
        if first is not None and last is not None:
            says.append(f"{', '.join(row.heads)}: from {decimal(first)} to {decimal(last)}")
    return f"Curves, a data set each. {title}. From m = 0 to m = 64: {'; '.join(says) or ABSENT}."


def accident_table(robust: pd.DataFrame, *, same_changes: bool = True) -> ReportTable:
    """Return the shares of points by model, robustness and tolerance; mean over folds, sd.

    `same_changes`: whether both results have to change the same features: as in the published experiments, or as the
    text says.
    """
    column = "accidental" if same_changes else "accidental-text"
    rows = []
    for model, text in MODELS.items():
        for objective in ("c", "k", "ck"):
            for percent in TOLERANCES:
                paper = block("accidental", model, objective, str(percent)) if same_changes else {}
                entries = []
                for dataset in DATASETS:
                    mine = rows_where(robust, dataset=dataset, model=model, objective=objective)
                    found = rate_over_folds(mine, f"{column}/{percent}")
                    entries.append(rate_entry(found, paper.get(dataset), points_of(paper, dataset)))
                rows.append(TableRow((text, ROBUSTNESS[objective], f"{percent} %"), tuple(entries)))
    what = "and change the same features" if same_changes else "whatever the features that they change"
    return ReportTable(
        "accidental" if same_changes else "accidental-as-the-text-says",
        "Robust by accident" if same_changes else "Robust by accident, as the text alone has it",
        "Share of points for which the results with and without accounting for robustness have equal categories and "
        f"numerical values within the tolerance (of the feature's range), {what}: mean over folds ± population "
        "standard deviation (none with one fold). With each: points that match of points solved both ways.",
        ("model", "robustness", "tolerance"),
        tuple(DATASETS.values()),
        tuple(rows),
        ()
        if same_changes
        else ("The published experiments also ask for the same changed features; this table leaves that out.",),
    )
