"""Records made by hand on shipped data sets, and the frame that reports are drawn from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cfbench.analysis.reports import ReportContext
from cfbench.digests import digest_of
from cfbench.record.store import Record
from cfbench.registry.contracts import DataSource
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry, build_registry
from cfbench.running.fitted import FittedModels
from cfbench.running.measure import identity
from cfbench.space.dataset import Dataset
from cfbench.study.sources import load_dataset
from cfbench.study.variants import parse_variant, resolve_variant
from cfbench_paper.evidence import COMPARED, MEASURED

Result = tuple[int, float | None, float]
"""Row of the data set, loss, seconds; a loss of None: nothing found."""


@cache
def registry() -> Registry:
    return build_registry()


@cache
def datasets() -> dict[str, Dataset]:
    source = DataSource((), Path("nowhere"), download=False)
    return {name: load_dataset(registry().dataset(name).entry, source) for name in ("credit", "housing")}


def context(record: Record) -> ReportContext:
    """Make what a report gets to work with."""
    folder = record.path.parent
    cache = folder / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    return ReportContext(record, registry(), DataSource((), folder, download=False), FittedModels(cache))


def put(
    record: Record,
    results: Sequence[Result],
    *,
    objective: str = "none",
    measures: Mapping[str, Sequence[float]] = {},
    step: float = 0.0,
    bounds: Mapping[int, float] = {},
    content: Mapping[str, Any] = {},
    **coordinates: Any,
) -> str:
    """Finish a cell; a row that stands twice has two repetitions.

    `measures`: a metric's values, one per point, of the first repetitions; `step`: how much further the first
    feature moves; `bounds`: proven lower bounds by row.
    """
    place = {
        "dataset": "housing",
        "model": "random-forest",
        "searcher": "cogs",
        "constraints": True,
        "fold": 0,
        **coordinates,
    }
    name, settings = parse_variant(objective)
    if name in ("k", "ck"):
        settings = {"m": 64, **settings}
    full = {
        "protocol": 1,
        "dataset": {"name": place["dataset"], "digest": _digest(place["dataset"])},
        "model": {"name": place["model"]},
        "searcher": {"name": place["searcher"]},
        "objective": {"name": name, "version": "1", "settings": settings},
        "constraints": place["constraints"],
        "fold": place["fold"],
        "respect_steps": False,
        "query_budget": None,
        "time_limit": None,
        "seed": 42,
        **content,
    }
    key = digest_of(full)
    x = np.zeros(13) if place["dataset"] not in datasets() else datasets()[place["dataset"]].X[0]
    rows = list(dict.fromkeys(row_id for row_id, *_ in results))
    for number, (row_id, loss, seconds) in enumerate(results):
        z = x.copy()
        z[0] += 1.0 + step
        record.append(
            {
                "cell_key": key,
                "point": rows.index(row_id),
                "row_id": row_id,
                "repetition": sum(other == row_id for other, *_ in results[:number]),
                "status": "not_found" if loss is None else "found",
                "reason": "",
                "x": x.tolist(),
                "z": None if loss is None else z.tolist(),
                "candidates": [],
                **dict.fromkeys(("loss", "gower", "cost", "objective_value"), loss),
                "l0": None if loss is None else 1,
                "search_queries": 10,
                "robustness_queries": 0,
                "wall_seconds": seconds,
                "cpu_seconds": seconds,
                "anytime": [],
                "figures": {"lower_bound": bounds[row_id], "proven": 1.0} if row_id in bounds else {},
                "model_fingerprint": "f",
            }
        )
    record.finish(CellInfo(key=key, objective=objective, **place), full, eligible=40)
    if measures:
        record.write_measures(key, _measures(key, measures))
    return key


@cache
def patterns() -> pd.DataFrame:
    """Two data sets, two models, four objectives and k[m=4], eight points each; every value is a plain pattern."""
    frames = []
    for dataset in ("credit", "income"):
        for model in ("random-forest", "neural-network"):
            for objective, robustness, m in (
                ("none", "none", 0),
                ("c", "c", 0),
                ("k", "k", 64),
                ("ck", "ck", 64),
                ("k[m=4]", "k", 4),
            ):
                spread = np.linspace(0.0, 0.07, 8)
                frame = pd.DataFrame(
                    {
                        "row_id": range(8),
                        "found": True,
                        "loss": 0.1 + spread,
                        "seconds": 1.0 + (robustness != "none"),
                        "cpu_seconds": 0.5 + 0.2 * (robustness != "none"),
                        "queries": 101_000.0,
                        "cell_key": f"{dataset}/{model}/{objective}",
                        "dataset": dataset,
                        "model": model,
                        "fold": 0,
                        "objective": objective,
                        "robustness": robustness,
                        "m": m,
                    }
                )
                for column in (*MEASURED, *COMPARED):
                    frame[column] = 0.5 + spread
                frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _digest(name: str) -> str:
    return datasets()[name].digest if name in datasets() else name


def _measures(key: str, measures: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    rows = []
    for text, values in measures.items():
        label, version, settings = identity(resolve_variant(registry(), "metric", text), registry())
        assert isinstance(json.loads(settings), dict)
        rows += [
            {
                "cell_key": key,
                "metric": label,
                "version": version,
                "settings": settings,
                "point": point,
                "repetition": 0,
                "value": value,
            }
            for point, value in enumerate(values)
        ]
    return pd.DataFrame(rows)
