"""Costs relative to the ideal one: perturbed, unperturbed, and with fewer samples for K."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfbench.report.boxes import COLOURS, Box, box_figure
from cfbench.report.canvas import Figure
from cfbench.report.names import DATASETS, DISTRIBUTIONS, MODELS, PARTS, ROBUSTNESS, SAMPLES
from cfbench.report.published import block
from cfbench.report.samples import of_samples
from cfbench.report.tables import Entry, Table, TableRow, decimal
from cfbench.space import FloatArray


def relative_cost(robust: pd.DataFrame, model: str, distribution: str, *, published: bool = False) -> Figure:
    """Return the actual cost after perturbations over the ideal cost, one panel per data set.

    Parameters
    ----------
    robust : DataFrame
    model : str
    distribution : str
    published : bool
        In the reading of the published experiments.
    """
    metric = "relative-cost-published" if published else "relative-cost"
    mine = robust[robust["model"] == model]

    def boxes(dataset: str) -> list[Box]:
        return [
            Box(
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


def relative_cost_table(robust: pd.DataFrame) -> Table:
    """Return mean relative costs with the share of draws that cannot be walked back and the published reading."""
    rows = []
    for dataset, short in DATASETS.items():
        for part, perturbed in PARTS.items():
            for objective, text in ROBUSTNESS.items():
                mine = robust[(robust["dataset"] == dataset) & (robust["objective"] == objective)]
                share = [1.0 - values for values in _columns(mine, "fixability", part)]
                ours, published = (_columns(mine, name, part) for name in ("relative-cost", "relative-cost-published"))
                entries = tuple(_mean_entry(values) for values in (ours, share, published))
                rows.append(TableRow((short, perturbed, text), entries))
    return Table(
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
            Box(text, text, COLOURS[objective], _values(mine, dataset, objective, "cost-of-robustness"))
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

    def boxes(dataset: str) -> list[Box]:
        rows = mine[mine["dataset"] == dataset]
        return [
            Box(
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
    mine = rows[(rows["dataset"] == dataset) & (rows["objective"] == objective)]
    return mine[column].dropna().to_numpy(np.float64)


def _columns(rows: pd.DataFrame, metric: str, part: str) -> list[FloatArray]:
    """Return the values of a metric about a part, both distributions together, by model."""
    columns = [f"{metric}/{part}/{distribution}" for distribution in DISTRIBUTIONS]
    found = [rows.loc[rows["model"] == model, columns].to_numpy(np.float64).ravel() for model in MODELS]
    return [values[np.isfinite(values)] for values in found]


def _mean_entry(by_model: list[FloatArray]) -> Entry:
    """Return the mean of the models' means, and the median of all values."""
    kept = [values for values in by_model if values.size]
    if not kept:
        return Entry()
    together = np.concatenate(kept)
    mean, median = float(np.mean([values.mean() for values in kept])), float(np.median(together))
    numbers = {"mean": mean, "median": median, "n": together.size}
    return Entry(f"{decimal(mean)} [{decimal(median)}]", f"n = {together.size}", numbers=numbers)
