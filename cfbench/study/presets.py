"""Studies that come with cfbench. A preset keeps to what is registered, and notes what it leaves out."""

from __future__ import annotations

from typing import Any

from cfbench.errors import StudyError, UnknownNameError
from cfbench.registry.registry import Registry
from cfbench.study.study import Study, make_study
from cfbench.study.variants import parse_variant

MODELS = ("random-forest", "neural-network")
"""The paper's models."""

PAPER_DATASETS = ("credit", "income", "housing", "productivity", "recidivism")
"""The paper's data sets, in the order of its tables."""

PAPER_SEARCHERS = ("cogs", "dice-a", "dice-b", "growing-spheres", "lore", "nelder-mead")
"""The searchers that the paper compares."""

PAPER_OBJECTIVES = ("none", "c", "k", "ck")
"""Whether the paper accounts for perturbations to C, to K, to both; with 64 samples for K."""

PAPER_SAMPLES = ("k[m=4]", "k[m=16]", "ck[m=4]", "ck[m=16]")
"""The same with fewer samples, for the appendix on their number; without any they are ``none`` and ``c``."""

METRICS = ("success", "loss", "gower", "l0", "sparsity", "seconds", "queries", "validity")
"""What all presets measure."""

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
"""What the paper's research questions ask of the results, and how usual these look."""

STANDARD_METRICS = (
    *METRICS,
    *("k-robustness", "k-certified", "redundancy", "knn-distance", "lof-inlier", "optimality-gap"),
    *(f"{name}[part={part}]" for name in ("invalidity", "fixability", "relative-cost") for part in ("c", "k", "ck")),
)
"""What the published leaderboard shows; perturbations are uniform there."""

QUICK_SETTINGS = {"cma-es": {"n_rows": 10_000}}
"""Smaller settings in the preset quick: with its defaults cma-es alone takes longer than all others together."""

SLOW_SEARCHERS = ("dice-a", "dice-b")
"""What the preset quick runs on one point each, and on wine alone: elsewhere a search takes minutes."""


def _quick(registry: Registry) -> dict[str, Any]:
    slow = tuple(name for name in registry.searchers if name in SLOW_SEARCHERS)
    others = tuple(name for name in registry.searchers if name not in slow)
    parts = ({"searchers": others}, {"searchers": slow, "datasets": ("wine",)})
    return {
        "datasets": ("credit", "housing", "wine"),
        "models": MODELS,
        "searchers": tuple(registry.searchers),
        "folds": (0,),
        "points": 3,
        "repetitions": 1,
        "parts": tuple(part for part in parts if part["searchers"]),
        "at_most": {name: {"points": 1} for name in slow},
        "settings": {name: given for name, given in QUICK_SETTINGS.items() if name in registry.searchers},
        "workers": 2,
    }


def _standard(registry: Registry) -> dict[str, Any]:
    return {
        "datasets": PAPER_DATASETS,
        "models": MODELS,
        "searchers": tuple(registry.searchers),
        # Searchers that minimise the loss alone search once, and are judged under both.
        "objectives": ("none", "ck"),
        "metrics": STANDARD_METRICS,
        "constraints": (False, True),
        "points": 5,
        "repetitions": 1,
        "parts": (),
        "workers": 2,
    }


def _paper(registry: Registry) -> dict[str, Any]:
    # LORE "takes much longer": three repetitions, the first five points of each fold.
    caps = {"lore": {"points": 5, "repetitions": 3}}
    return {
        "datasets": PAPER_DATASETS,
        "models": MODELS,
        "searchers": PAPER_SEARCHERS,
        "objectives": (*PAPER_OBJECTIVES, *PAPER_SAMPLES),
        "metrics": PAPER_METRICS,
        "parts": (
            # Sec. "Choosing a suitable counterfactual search algorithm": most searchers know no constraints.
            {"objectives": ("none",), "constraints": (False,)},
            # The sections on robustness: the best searcher alone, constraints on.
            {"searchers": ("cogs",), "constraints": (True,)},
        ),
        "at_most": {name: cap for name, cap in caps.items() if name in registry.searchers},
    }


PRESETS = {
    "quick": ("a first look in minutes: every searcher, three data sets, fold 0, three points", _quick),
    "standard": ("the published leaderboard: every searcher, five data sets, five folds, five points", _standard),
    "paper": ("everything as in the paper: five data sets, five folds, all points, five repetitions", _paper),
}
"""Every preset: what it is for, and the function that returns its keys for what is registered."""


def preset(name: str, registry: Registry) -> Study:
    """Return a preset, without what is not registered.

    Its data sets are optional: one whose table cannot be had is left out of the plan with a note.

    Parameters
    ----------
    name : str
    registry : Registry

    Raises
    ------
    UnknownNameError
        If there is no such preset.
    StudyError
        If nothing of one of its lists is registered.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    keys = {"objectives": ("none",), "metrics": METRICS, **PRESETS[name][1](registry)}
    known = {
        "datasets": registry.datasets,
        "models": registry.models,
        "searchers": registry.searchers,
        "objectives": registry.objectives,
        "metrics": registry.metrics,
    }
    notes = []
    for axis, entries in known.items():
        absent = [text for text in keys[axis] if parse_variant(text)[0] not in entries]
        if len(absent) == len(keys[axis]) and axis != "metrics":
            raise StudyError(
                f"preset {name}: none of its {axis} is registered ({', '.join(absent) or 'there are none'}); "
                "`cfbench plugins` lists what is registered and what failed to load"
            )
        if absent:
            keys = _without(keys, axis, absent)
            notes.append(f"preset {name} leaves out {axis} that are not registered: {', '.join(absent)}")
    return make_study({"name": name, **keys, "optional_datasets": keys["datasets"], "notes": notes}, f"preset {name}")


def _without(keys: dict[str, Any], axis: str, absent: list[str]) -> dict[str, Any]:
    """Take names out of a list of the study and of its parts; a part that loses a whole list is dropped."""

    def kept(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for text in names if text not in absent)

    parts = [{**part, axis: kept(part[axis])} if axis in part else part for part in keys["parts"]]
    parts = [part for part in parts if part.get(axis, True)]
    return {**keys, axis: kept(keys[axis]), "parts": parts}
