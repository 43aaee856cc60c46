"""The studies: a first look, the published leaderboard, and everything as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfbench import Cost, SearcherEntry

MODELS = ("random-forest", "neural-network")
"""The paper's models."""

OTHER_MODELS = (
    "extra-trees",
    "decision-tree",
    "gradient-boosting",
    "xgboost",
    "lightgbm",
    "catboost",
    "logistic-regression",
)
"""The families that the paper does not look at."""

DATASETS = ("credit", "income", "housing", "productivity", "recidivism")
"""The paper's data sets, in the order of its tables."""

SEARCHERS = ("cogs", "dice-a", "dice-b", "growing-spheres", "lore", "nelder-mead")
"""The searchers that the paper compares."""

REFERENCE = "cogs"
"""The searcher that the paper proposes; others are compared with it."""

OBJECTIVES = ("none", "c", "k", "ck")
"""Whether the paper accounts for perturbations to C, to K, to both; with 64 samples for K."""

SAMPLES = ("k[m=4]", "k[m=16]", "ck[m=4]", "ck[m=16]")
"""The same with fewer samples, for the appendix on their number; without any they are ``none`` and ``c``."""

METRICS = ("success", "loss", "gower", "l0", "sparsity", "seconds", "queries", "validity")
"""What all these studies measure."""

PAPER_METRICS = (
    *METRICS,
    *("k-robustness", "redundancy", "knn-distance", "lof-inlier"),
    *(
        f"{name}[part={part},distribution={distribution}]"
        for name in ("invalidity", "fixability", "relative-cost", "relative-cost-published")
        for part in ("c", "k", "ck")
        for distribution in ("uniform", "normal")
    ),
)
"""What the paper's research questions need, and how usual the results look."""

STANDARD_METRICS = (
    *METRICS,
    *("k-robustness", "k-certified", "redundancy", "knn-distance", "lof-inlier", "optimality-gap"),
    *(f"{name}[part={part}]" for name in ("invalidity", "fixability", "relative-cost") for part in ("c", "k", "ck")),
)
"""What the published leaderboard shows; perturbations are uniform there."""


def quick(searchers: Mapping[str, SearcherEntry]) -> dict[str, Any]:
    """Return a first look in minutes; slow searchers run on one point each, and on wine alone."""
    slow = tuple(name for name, entry in searchers.items() if entry.cost == Cost.SLOW)
    others = tuple(name for name in searchers if name not in slow)
    parts = ({"searchers": others}, {"searchers": slow, "datasets": ("wine",)})
    return {
        "datasets": ("credit", "housing", "wine"),
        "models": MODELS,
        "searchers": tuple(searchers),
        "metrics": METRICS,
        "folds": (0,),
        "points": 3,
        "repetitions": 1,
        "parts": tuple(part for part in parts if part["searchers"]),
        "at_most": {name: {"points": 1} for name in slow},
        # With its defaults this searcher alone takes longer than all others together.
        "settings": {"cma-es": {"n_rows": 10_000}},
        "workers": 2,
    }


def standard(searchers: Mapping[str, SearcherEntry]) -> dict[str, Any]:
    """Return the study of the published leaderboard."""
    return {
        "datasets": DATASETS,
        "models": MODELS,
        "searchers": tuple(searchers),
        # Searchers that minimise the loss alone search once, and are judged under both.
        "objectives": ("none", "ck"),
        "metrics": STANDARD_METRICS,
        "constraints": (False, True),
        "points": 5,
        "repetitions": 1,
        "workers": 2,
    }


def models(searchers: Mapping[str, SearcherEntry]) -> dict[str, Any]:
    """Return the study of the families that the paper does not look at."""
    return {
        "datasets": DATASETS,
        "models": OTHER_MODELS,
        "searchers": tuple(searchers),
        "metrics": STANDARD_METRICS,
        "folds": (0,),
        "points": 5,
        "repetitions": 1,
        "workers": 2,
    }


PAPER: Mapping[str, Any] = {
    "datasets": DATASETS,
    "models": MODELS,
    "searchers": SEARCHERS,
    "objectives": (*OBJECTIVES, *SAMPLES),
    "metrics": PAPER_METRICS,
    "parts": (
        # Sec. "Choosing a suitable counterfactual search algorithm": most searchers know no constraints.
        {"objectives": ("none",), "constraints": (False,)},
        # The sections on robustness: the best searcher alone, constraints on.
        {"searchers": (REFERENCE,), "constraints": (True,)},
    ),
    # LORE "takes much longer": three repetitions, the first five points of each fold.
    "at_most": {"lore": {"points": 5, "repetitions": 3}},
}
"""Everything as in the paper."""
