"""Costs beside the ideal one, as boxes: perturbed, unperturbed, and with fewer samples for K."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfbench.report.boxes import COLOURS, Box, box_figure
from cfbench.report.canvas import Figure
from cfbench.report.names import DATASETS, MODELS, PARTS, ROBUSTNESS, SAMPLES
from cfbench.report.published import block
from cfbench.report.samples import of_samples
from cfbench.space import FloatArray


def relative_cost(robust: pd.DataFrame, model: str, distribution: str, *, raw: bool = False) -> Figure:
    """Return the actual cost after perturbations over the ideal cost, a data set a panel.

    Parameters
    ----------
    robust : DataFrame
    model : str
    distribution : str
    raw : bool
        With setbacks in raw units, as the published experiments had them.
    """
    metric = "relative-cost-raw" if raw else "relative-cost"
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

    units = "in raw units, the published reading" if raw else "divided by each feature's range"
    published_points = (
        ((1,) if not raw else ())
        + ((2,) if model == "neural-network" else ())
        + ((5,) if distribution == "normal" else ())
    )
    return box_figure(
        f"{metric}-{model}-{distribution}",
        f"Relative cost{', setbacks in raw units' if raw else ''}: {MODELS[model]}, {distribution} perturbations",
        f"Cost of reaching the result, {distribution} perturbations included, over the ideal cost (that of the "
        f"result when nothing is accounted for); setbacks {units}. No unit; 1 is ideal, lower is better. Bold: what "
        "the search accounts for; above it what is perturbed. Boxes: quartiles and median over points; whiskers: "
        "extremes.",
        {dataset: boxes(dataset) for dataset in DATASETS},
        block("figures")["relative-cost"],
        published_points,
        height=1.5,
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
        (2, 4) if model == "neural-network" else (4,),
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
        (2, 4) if model == "neural-network" else (4,),
        height=1.4,
    )


def _values(rows: pd.DataFrame, dataset: str, objective: str, column: str) -> FloatArray:
    mine = rows[(rows["dataset"] == dataset) & (rows["objective"] == objective)]
    return mine[column].dropna().to_numpy(np.float64)
