"""What no correct record holds: a result below the optimum, a sampled score that the exact probability excludes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from cfbench.analysis.references import COORDINATES, PointResults, compare_cells
from cfbench.record.cells import CellSummary
from cfbench.record.schema import SearchId
from cfbench.record.store import Record
from cfbench.registry.registry import Registry
from cfbench.study.variants import parse_variant, resolve_variant

GAP = "optimality-gap"
ROUNDING = 1e-9
"""A result so much below the optimum, as a share of it, is below it by rounding: costs are added in another order."""

REJECTED = 1e-6
"""Level of the test of each sampled score: of a million sound ones, one fails it."""


@dataclass
class Guarded:
    """What was looked at, and what was wrong with it.

    Parameters
    ----------
    gaps, scores : int
        Results compared with a lower bound; sampled scores compared with an exact probability.
    violations : list of str
        One sentence each; empty for a sound record.
    """

    gaps: int = 0
    scores: int = 0
    violations: list[str] = field(default_factory=list)


def guard(record: Record, registry: Registry) -> Guarded:
    """Compare a record with what is proven about it.

    Parameters
    ----------
    record : Record
        With cells of the exact searcher, and with the metrics `k-robustness` and `k-probability` measured, as far as
        it is to be guarded.
    registry : Registry
    """
    guarded = Guarded()
    results = PointResults(record, registry)
    comparisons = compare_cells(record, registry, [resolve_variant(registry, "metric", GAP)], results=results)
    table = comparisons.table[comparisons.table["value"].notna()]
    guarded.gaps = len(table)
    below = table[table["value"] < -ROUNDING]
    for row in below[[*COORDINATES, "row_id", "value"]].itertuples(index=False, name=None):
        place, (row_id, value) = dict(zip(COORDINATES, row, strict=False)), row[-2:]
        guarded.violations.append(
            f"{place['searcher']} has a result {-value:.3g} below the optimum on {place['dataset']}, {place['model']}, "
            f"objective {place['objective']}, fold {place['fold']}, row {row_id}: the exact searcher's bound is wrong"
        )
    for cell in record.summaries().values():
        for probability, score, draws, width, row_id in _scores(record, cell):
            guarded.scores += 1
            if _is_rejected(score, draws, probability - width / 2, probability + width / 2):
                guarded.violations.append(
                    f"{cell.info.searcher} on {cell.info.dataset}, fold {cell.info.fold}, row {row_id}: {score} of "
                    f"{draws} draws keep the class, and the exact probability is {probability:.4f}"
                )
    return guarded


def _scores(record: Record, cell: CellSummary) -> Iterator[tuple[float, int, int, float, int]]:
    """Yield probability, draws that keep the class, draws, width of the interval, and point of each measured result."""
    if not cell.searches:
        return
    table = record.measures(cell.info.key)
    if table.empty:
        return
    by_metric: dict[str, list[tuple[dict[str, Any], dict[SearchId, float]]]] = defaultdict(list)
    for place, part in table[table["value"].notna()].groupby(["metric", "settings"]):
        label, settings = place if isinstance(place, tuple) else (place, "{}")
        places = zip(part["point"].tolist(), part["repetition"].tolist(), strict=True)
        values = dict(zip(places, part["value"].tolist(), strict=True))
        by_metric[parse_variant(str(label))[0]].append((json.loads(str(settings)), values))
    for sampled, exact in product(by_metric["k-robustness"], by_metric["k-probability"]):
        for search in sampled[1].keys() & exact[1].keys():
            draws, width = int(sampled[0]["m"]), float(exact[0]["width"])
            row_id = cell.row_ids[search[0]] if search[0] < len(cell.row_ids) else -1
            yield exact[1][search], round(sampled[1][search] * draws), draws, width, row_id


def _is_rejected(kept: int, draws: int, lower: float, upper: float) -> bool:
    """Whether no probability of an interval explains a share of draws, by the binomial distribution."""
    from scipy.stats import binom

    lower, upper = np.clip([lower, upper], 0.0, 1.0)
    if kept > draws * upper:
        return bool(binom.sf(kept - 1, draws, upper) < REJECTED)
    return bool(kept < draws * lower and binom.cdf(kept, draws, lower) < REJECTED)
