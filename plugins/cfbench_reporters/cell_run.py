"""The anytime curve of a cell: the best loss so far against the number of queries."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfbench import __version__
from cfbench.digests import digest_of
from cfbench.registry import CellFinished, CellInfo
from cfbench.space import FloatArray, IntArray
from cfbench.tracking import command_again
from cfbench_reporters.run_counts import FAILURES, described, printable, several

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 100
"""MLflow draws and stores every step of every run."""


@dataclass(frozen=True, eq=False)
class AnytimeCurve:
    """The median over a cell's searches of the best loss so far.

    Decision: a search that has found nothing yet counts as infinitely far, so that giving up on hard points gains
    nothing. The curve starts where more than half of the searches have found something; it is empty where that never
    happens.
    """

    queries: IntArray  # queries by the searcher, ascending, at most ``MOST_STEPS``
    losses: FloatArray  # the median at each of them; never rises
    searches: int  # what the median is over


def anytime_curve(searches: pd.DataFrame, prepare_queries: int = 0) -> AnytimeCurve:
    """Return the curve of a cell's searches, which starts after the queries of their preparation."""
    start = [prepare_queries, 0]
    progress = [np.array(pairs, dtype=np.float64).reshape(-1, 2) + start for pairs in searches["anytime"]]
    steps = _steps(np.unique(np.concatenate([pairs[:, 0] for pairs in progress] or [np.empty(0)])))
    best = np.full((len(progress), len(steps)), np.inf)
    for row, pairs in zip(best, progress, strict=True):
        known = np.searchsorted(pairs[:, 0], steps, side="right")
        so_far = np.minimum.accumulate(pairs[:, 1])
        row[known > 0] = so_far[known[known > 0] - 1]
    if not progress:
        return AnytimeCurve(steps.astype(np.int64), steps, 0)
    medians = np.median(best, axis=0)
    there = np.isfinite(medians)
    return AnytimeCurve(steps[there].astype(np.int64), medians[there], len(progress))


def _steps(queries: FloatArray) -> FloatArray:
    """Thin out evenly on a logarithmic axis, the first and the last kept: most is gained early."""
    if len(queries) <= MOST_STEPS:
        return queries
    wanted = np.geomspace(max(queries[0], 1.0), queries[-1], MOST_STEPS)
    kept = np.unique(np.searchsorted(queries, wanted).clip(max=len(queries) - 1))
    kept[0], kept[-1] = 0, len(queries) - 1
    thinned: FloatArray = queries[kept]
    return thinned


def cell_note(event: CellFinished) -> str:
    """Describe a finished cell, in Markdown."""
    assert event.searches is not None
    searches = event.searches
    points, found = searches["point"].nunique(), int(searches["loss"].notna().sum())
    if event.cell.not_run_here:
        again = ["Its results were made elsewhere, and judged here from a file: nothing here can run it again."]
    else:
        n_points, repetitions = (int(searches[name].max()) + 1 for name in ("point", "repetition"))
        command = command_again([event.cell], event.content, points=n_points, repetitions=repetitions)
        again = ["To run it again:", "", "```sh", _plain(command), "```"]
    of_fold = f" of {event.eligible:,} in the fold" if event.eligible else ""
    return "\n".join(
        [
            f"{_plain(described(event.cell))}: {several(len(searches), 'search', 'searches')} on "
            f"{several(points, 'point', 'points')}{of_fold}, {found:,} found.",
            "",
            *again,
            "",
            "`searches.parquet` holds every search, `measures.parquet` what metrics say about them; the metric "
            "`anytime_loss` is the median best loss so far, its step the number of queries.",
        ]
    )


def _plain(text: str) -> str:
    """Keep what could end a block of code, or steer a reader's terminal, out of a note."""
    return printable(text).replace("`", "'")


CELL_TAG = "cfbench.cell"
"""Tag that finds a cell's run; its value is the cell's key."""
CONTENT_TAG = "cfbench.content"
"""Tag that says what a run was logged from, set last: a run that has it is whole."""
STUDY_TAG = "cfbench.study"
"""Tag of an experiment that holds a study's cells; its value is the study's name."""
CURVE_TAG = "cfbench.curve"
"""Tag with a digest of the stepped metric, which MLflow never forgets."""
ANYTIME_METRIC = "anytime_loss"
NOTE_TAG = "mlflow.note.content"

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_\-.: ]+")
_LONGEST_NAME = 200  # MLflow takes 250 characters
_LONGEST_VALUE = 5000  # MLflow takes 6000 in a parameter; older servers take 5000 in a tag


@dataclass(frozen=True)
class CellRun:
    """A cell's run, ready to be logged."""

    key: str  # the cell's key
    name: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]  # finite numbers only
    curve: AnytimeCurve
    dataset_digest: str = ""  # digest of the data set's table and annotation; empty where the event does not say


def cell_run(event: CellFinished) -> CellRun:
    """Describe a finished cell, which has at least one search, as a run."""
    assert event.searches is not None
    cell = event.cell
    params = {
        "dataset": cell.dataset,
        "model": cell.model,
        "searcher": cell.searcher,
        "objective": cell.objective,
        "constraints": "on" if cell.constraints else "off",
        "fold": f"f{cell.fold}",  # MLflow averages what looks like a number
    }
    name = " ".join([cell.searcher, cell.dataset, cell.model, cell.objective, params["fold"]])
    if cell.constraints:
        name += " constrained"
    fingerprints = sorted(set(event.searches["model_fingerprint"]) - {""})
    seconds, queries = event.preparation or (math.nan, 0)
    curve = anytime_curve(event.searches, queries)
    tags = {
        **_version_tags(cell),
        "cfbench.model_fingerprint": " ".join(fingerprints),
        CURVE_TAG: digest_of([curve.queries.tolist(), curve.losses.tolist()]),
        NOTE_TAG: cell_note(event),
    }
    metrics = {**_search_metrics(event.searches), **_measured_means(event.measures)}
    if event.preparation is not None:
        metrics |= {"prepare_seconds": seconds, "prepare_queries": float(queries)}
    return CellRun(
        key=cell.key,
        name=name[:_LONGEST_NAME],
        params={name: value[:_LONGEST_VALUE] for name, value in params.items()},
        tags={name: value[:_LONGEST_VALUE] for name, value in tags.items()},
        metrics={name: value for name, value in metrics.items() if math.isfinite(value)},
        curve=curve,
        dataset_digest=str(event.content.get("dataset", {}).get("digest", "")),
    )


def mlflow_name(name: str) -> str:
    """Return `name` in the letters that MLflow allows in a name: ``k-score[m=32]`` becomes ``k-score_m_32``.

    A slash is replaced as well: where it stands at an edge or doubled, MLflow refuses the name.
    """
    return _NOT_IN_NAMES.sub("_", name).strip("_ .")[:_LONGEST_NAME] or "unnamed"


def mlflow_names(names: Iterable[str]) -> dict[str, str]:
    """Return names that MLflow takes, by the given ones; two that differ in forbidden letters alone stay apart."""
    names = list(names)
    shared = Counter(mlflow_name(name) for name in names)
    return {
        name: mlflow_name(name) + (f"-{digest_of(name)[:6]}" if shared[mlflow_name(name)] > 1 else "") for name in names
    }


def _version_tags(cell: CellInfo) -> dict[str, str]:
    versions = {f"cfbench.version.{mlflow_name(name)}": version for name, version in cell.versions.items()}
    return {
        CELL_TAG: cell.key,
        "cfbench.version": __version__,
        **versions,
        "cfbench.white_box": "true" if cell.white_box else "false",
        "cfbench.not_run_here": "true" if cell.not_run_here else "false",
    }


def _search_metrics(searches: pd.DataFrame) -> dict[str, float]:
    found = searches[searches["loss"].notna()]
    results = found.sort_values("objective_value", kind="stable").drop_duplicates("point")["loss"]
    n_searches, n_points = len(searches), searches["point"].nunique()
    return {
        "searches": n_searches,
        "points": n_points,
        "found": len(found),
        "points_found": len(results),
        "success_rate": len(found) / n_searches,
        "point_success_rate": len(results) / n_points,
        "failures": int(searches["status"].isin([str(status) for status in FAILURES]).sum()),
        "loss_mean": float(results.mean()),
        "loss_median": float(results.median()),
        # NaN, and so not logged, if a search's is unknown, as of results that were made elsewhere.
        "seconds": float(searches["wall_seconds"].mean(skipna=False)),
        "queries": float(searches["search_queries"].mean(skipna=False)),
        "robustness_queries": float(searches["robustness_queries"].mean(skipna=False)),
    }


def _measured_means(measures: pd.DataFrame | None) -> dict[str, float]:
    if measures is None or measures.empty:
        return {}
    means = {str(metric): float(group.mean()) for metric, group in measures.groupby("metric")["value"]}
    names = mlflow_names(means)
    return {f"mean/{names[metric]}": mean for metric, mean in means.items()}
