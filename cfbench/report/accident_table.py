"""How often a search that does not account for robustness finds the robust result by accident."""

from __future__ import annotations

import pandas as pd

from cfbench.report.names import DATASETS, MODELS, ROBUSTNESS, TOLERANCES
from cfbench.report.published import block, points_of
from cfbench.report.search_tables import rate_entry, rate_over_folds
from cfbench.report.tables import Table, TableRow


def accident_table(robust: pd.DataFrame, *, same_changes: bool = True) -> Table:
    """Return the shares of points by model, robustness and tolerance; mean over folds, sd.

    Parameters
    ----------
    robust : DataFrame
    same_changes : bool
        Whether both results have to change the same features: as in the published experiments, or as the text says.
    """
    column = "accidental" if same_changes else "accidental-text"
    rows = []
    for model, text in MODELS.items():
        for objective in ("c", "k", "ck"):
            for percent in TOLERANCES:
                paper = block("accidental", model, objective, str(percent)) if same_changes else {}
                entries = []
                for dataset in DATASETS:
                    mine = robust[
                        (robust["dataset"] == dataset) & (robust["model"] == model) & (robust["objective"] == objective)
                    ]
                    found = rate_over_folds(mine, f"{column}/{percent}")
                    entries.append(rate_entry(found, paper.get(dataset), points_of(paper, dataset)))
                rows.append(TableRow((text, ROBUSTNESS[objective], f"{percent} %"), tuple(entries)))
    what = "and change the same features" if same_changes else "whatever the features that they change"
    return Table(
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
