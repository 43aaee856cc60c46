"""What a finished cell looks like as an MLflow run: its name, parameters, tags and metrics.

Metrics of a run, each with its denominator:

=====================  ===========================================================================
searches, points       searches of the cell, and points that they were asked for
found, points_found    searches that found a counterfactual, and points that have one
success_rate           found / searches
point_success_rate     points_found / points
failures               searches that timed out, crashed or answered with no counterfactual
loss_mean, loss_median base loss of the points' results, over points_found
seconds                wall seconds a search, over searches
queries                rows that the searcher asked a search, over searches
robustness_queries     rows that the objective asked a search, over searches
mean/METRIC            mean of a measured metric, over the searches that have a value
anytime_loss           stepped by rows asked: median over searches of the best loss so far
=====================  ===========================================================================
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cfbench import CellFinished, CellInfo, __version__, digest_of
from cfbench_reporters.cell_note import cell_note
from cfbench_reporters.curve import AnytimeCurve, anytime_curve
from cfbench_reporters.tally import FAILURES

if TYPE_CHECKING:
    import pandas as pd

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
    """A cell's run, ready to be logged.

    Parameters
    ----------
    key : str
        The cell's key.
    name : str
    params, tags : dict of str to str
    metrics : dict of str to float
        Finite numbers only.
    curve : AnytimeCurve
    dataset_digest : str
        Digest of the data set's table and annotation; empty where the event does not say.
    """

    key: str
    name: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]
    curve: AnytimeCurve
    dataset_digest: str = ""


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
    curve = anytime_curve(event.searches)
    tags = {
        **_version_tags(cell),
        "cfbench.model_fingerprint": " ".join(fingerprints),
        CURVE_TAG: digest_of([curve.queries.tolist(), curve.losses.tolist()]),
        NOTE_TAG: cell_note(event),
    }
    metrics = {**_search_metrics(event.searches), **_measured_means(event.measures)}
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
        "seconds": float(searches["wall_seconds"].mean()),
        "queries": float(searches["search_queries"].mean()),
        "robustness_queries": float(searches["robustness_queries"].mean()),
    }


def _measured_means(measures: pd.DataFrame | None) -> dict[str, float]:
    if measures is None or measures.empty:
        return {}
    means = {str(metric): float(group.mean()) for metric, group in measures.groupby("metric")["value"]}
    names = mlflow_names(means)
    return {f"mean/{names[metric]}": mean for metric, mean in means.items()}
