"""The entries of the metrics about robustness and plausibility."""

from __future__ import annotations

from collections.abc import Iterable

from cfbench import Direction, MetricEntry
from cfbench_metrics.accidental_robustness import AccidentalRobustness
from cfbench_metrics.aftermath import ActualCost, AdditionalCost, Fixability, Invalidity, Unfixable
from cfbench_metrics.judged import Redundancy
from cfbench_metrics.k_certified import KCertified, KProbability
from cfbench_metrics.k_robustness import KRobustness
from cfbench_metrics.plausibility import KnnDistance, LofInlier
from cfbench_metrics.relative_cost import (
    CostOfRobustness,
    PublishedRelativeCost,
    RawRelativeCost,
    RelativeCost,
    TimeOfRobustness,
)

FOUND = "searches that found a counterfactual"
CONSTRAINED = f"{FOUND}, constraints on"
BOTH = "points that were solved with and without the robustness objective"
PARTS: tuple[dict[str, str], ...] = ({"part": "c"}, {}, {"part": "ck"})
"""What may be perturbed: changed features, the kept ones (the default), or both."""


def entries() -> Iterable[MetricEntry]:
    """Yield what happens to results when the world moves, what accounting for it costs, and how usual results look."""
    yield MetricEntry(
        name="k-robustness",
        metric=KRobustness,
        header="robust\nK-score",
        group="robustness",
        shown_by_default=True,
        direction=Direction.HIGHER,
        denominator=FOUND,
        summary="share of random perturbations of the kept features that keep the class",
    )
    yield MetricEntry(
        name="k-certified",
        metric=KCertified,
        direction=Direction.HIGHER,
        denominator=f"{FOUND}, on a forest, and were decided within the limit",
        summary="1 if it is proven that no perturbation of the kept features loses the class, 0 if one does",
    )
    yield MetricEntry(
        name="k-probability",
        version="2",
        metric=KProbability,
        direction=Direction.HIGHER,
        denominator=f"{FOUND}, on a forest, and were enclosed within the limit",
        summary="exact probability that a random perturbation of the kept features keeps the class",
    )
    yield MetricEntry(
        name="invalidity",
        metric=Invalidity,
        group="robustness",
        group_settings=PARTS,
        page_settings=({"part": "ck"},),
        direction=Direction.LOWER,
        denominator=CONSTRAINED,
        summary="share of random perturbations after which the result is no longer of the target class",
    )
    yield MetricEntry(
        name="fixability",
        metric=Fixability,
        group="robustness",
        group_settings=PARTS,
        page_settings=({"part": "ck"},),
        direction=Direction.HIGHER,
        denominator=CONSTRAINED,
        summary="share of random perturbations that keep the target class or can be walked back",
    )
    yield MetricEntry(
        name="unfixable",
        metric=Unfixable,
        direction=Direction.LOWER,
        denominator=CONSTRAINED,
        summary="share of random perturbations that lose the target class and cannot be walked back",
    )
    yield MetricEntry(
        name="additional-cost",
        version="2",
        metric=AdditionalCost,
        direction=Direction.LOWER,
        denominator=CONSTRAINED,
        shown_with="unfixable",
        summary="mean cost of walking back to the result after a random perturbation, as if it were always allowed",
    )
    yield MetricEntry(
        name="actual-cost",
        version="2",
        metric=ActualCost,
        direction=Direction.LOWER,
        denominator=CONSTRAINED,
        shown_with="unfixable",
        summary="cost of the result plus its mean additional cost after a random perturbation",
    )
    yield MetricEntry(
        name="relative-cost",
        version="2",
        metric=RelativeCost,
        group="robustness",
        group_settings=PARTS,
        page_settings=({"part": "ck"},),
        direction=Direction.LOWER,
        denominator=f"{BOTH}, constraints on",
        shown_with="unfixable",
        summary="actual cost over the cost of the same searcher's result under objective none",
    )
    yield MetricEntry(
        name="relative-cost-raw",
        version="2",
        metric=RawRelativeCost,
        direction=Direction.LOWER,
        denominator=f"{BOTH}, constraints on",
        shown_with="unfixable",
        summary="relative cost with setbacks in raw units; the published reading for C under objective none",
    )
    yield MetricEntry(
        name="relative-cost-published",
        metric=PublishedRelativeCost,
        direction=Direction.LOWER,
        denominator=f"{BOTH}, constraints on",
        shown_with="unfixable",
        summary="relative cost as the published experiments computed it, over the result's own loss",
    )
    yield MetricEntry(
        name="accidental-robustness",
        metric=AccidentalRobustness,
        denominator=BOTH,
        summary="1 if the search without the robustness objective found the same result within a tolerance",
    )
    yield MetricEntry(
        name="cost-of-robustness",
        metric=CostOfRobustness,
        direction=Direction.LOWER,
        denominator=BOTH,
        summary="loss of the result divided by the loss under objective none, without perturbations",
    )
    yield MetricEntry(
        name="time-of-robustness",
        metric=TimeOfRobustness,
        direction=Direction.LOWER,
        unit="s",
        denominator=BOTH,
        summary="additional seconds compared with the search under objective none",
    )
    yield MetricEntry(
        name="redundancy",
        metric=Redundancy,
        group="plausibility",
        direction=Direction.LOWER,
        unit="features",
        denominator=FOUND,
        summary="number of changed features that could each keep their old value",
    )
    yield MetricEntry(
        name="knn-distance",
        metric=KnnDistance,
        group="plausibility",
        direction=Direction.LOWER,
        denominator=f"{FOUND}, if the target class has training rows",
        summary="mean Gower distance to the nearest training rows of the target class",
    )
    yield MetricEntry(
        name="lof-inlier",
        metric=LofInlier,
        group="plausibility",
        direction=Direction.HIGHER,
        denominator=f"{FOUND}, if the target class has enough training rows",
        summary="1 if the result is an inlier among the training rows of the target class",
    )
