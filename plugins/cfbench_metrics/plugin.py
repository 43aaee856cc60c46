"""Registers the metrics that cfbench ships."""

from __future__ import annotations

from collections.abc import Iterable

from cfbench import Direction, Metric, MetricEntry, hookimpl
from cfbench_metrics import robustness
from cfbench_metrics.distances import L1, L2, LInfinity, MadDistance
from cfbench_metrics.judged import L0, Gower, Loss, Queries, Seconds, Sparsity, Success, Validity
from cfbench_metrics.optimality import OptimalityGap, RelativeLoss
from cfbench_metrics.sets import Diversity, Hypervolume, SetCoverage, SetSize

FOUND = "searches that found a counterfactual"
ALL = "searches"


@hookimpl
def cfbench_register_metrics() -> Iterable[MetricEntry]:
    """Register what the leaderboard and a first look at results need, and then what robustness asks for."""
    yield MetricEntry(
        name="success",
        metric=Success,
        measured_by_default=True,
        direction=Direction.HIGHER,
        denominator=ALL,
        summary="1 if a search found a counterfactual, else 0",
    )
    yield MetricEntry(
        name="loss",
        metric=Loss,
        measured_by_default=True,
        former_names=("cost",),
        direction=Direction.LOWER,
        denominator=FOUND,
        summary="base loss of the result: half of Gower's distance, half of the share of changed features",
    )
    yield MetricEntry(
        name="gower",
        metric=Gower,
        measured_by_default=True,
        group="distances",
        direction=Direction.LOWER,
        denominator=FOUND,
        summary="Gower's distance of the result from the factual point",
    )
    yield MetricEntry(
        name="l0",
        metric=L0,
        measured_by_default=True,
        group="distances",
        direction=Direction.LOWER,
        unit="features",
        denominator=FOUND,
        summary="number of features that the result changes",
    )
    yield MetricEntry(
        name="sparsity",
        metric=Sparsity,
        measured_by_default=True,
        group="distances",
        direction=Direction.HIGHER,
        denominator=FOUND,
        summary="share of features that the result does not change",
    )
    yield MetricEntry(
        name="seconds",
        metric=Seconds,
        measured_by_default=True,
        direction=Direction.LOWER,
        unit="s",
        denominator=ALL,
        summary="wall-clock time of a search",
    )
    yield MetricEntry(
        name="queries",
        metric=Queries,
        measured_by_default=True,
        direction=Direction.LOWER,
        unit="queries",
        denominator=ALL,
        summary="queries of the model in a search, including those of the objective",
    )
    yield MetricEntry(
        name="validity",
        metric=Validity,
        measured_by_default=True,
        direction=Direction.HIGHER,
        denominator="searches that returned a vector",
        summary="1 if the returned vector passes the checks again, with the fitted model's own predict",
    )
    yield MetricEntry(
        name="relative-loss",
        metric=RelativeLoss,
        header="median",
        percent=True,
        group="values",
        direction=Direction.LOWER,
        denominator="points that both searchers solved",
        summary="(loss - reference loss) / reference loss",
    )
    yield MetricEntry(
        name="optimality-gap",
        metric=OptimalityGap,
        percent=True,
        page_settings=({},),
        direction=Direction.LOWER,
        denominator="points found for which the exact searcher has a lower bound",
        summary="relative distance of the objective value from the proven optimum",
    )
    yield from robustness.entries()
    # The distances that tables of the field show.
    yield from _group(
        "distances",
        Direction.LOWER,
        ("l1", L1, "sum of the changes, numerical ones as shares of the range, categories as 0 or 1"),
        ("l2", L2, "Euclidean length of the change, numerical features as shares of the range, categories as 0 or 1"),
        ("l-infinity", LInfinity, "largest change of a feature, as a share of the range, 1 for a category"),
        ("mad-distance", MadDistance, "sum of the changes over median absolute deviations in the training fold"),
    )
    # What is true of sets of counterfactuals.
    yield from _group(
        "sets",
        Direction.HIGHER,
        ("set-size", SetSize, "number of different counterfactuals that a search returned"),
        ("diversity", Diversity, "mean Gower distance between two counterfactuals of a set, 0 for a single one"),
        ("set-coverage", SetCoverage, "different sets of changed features, divided by the valid rows of the set"),
        ("hypervolume", Hypervolume, "area of (loss, 1 - K-score) that a set dominates, up to (1, 1)"),
    )


def _group(group: str, direction: Direction, *metrics: tuple[str, type[Metric], str]) -> Iterable[MetricEntry]:
    """Yield the entries of a group: name, class and summary of each."""
    for name, metric, summary in metrics:
        yield MetricEntry(
            name=name,
            metric=metric,
            group=group,
            unit="rows" if metric is SetSize else "",
            direction=direction,
            denominator=FOUND,
            summary=summary,
        )
