"""What the paper calls data sets, models, searchers and kinds of robustness, in its own order."""

from __future__ import annotations

from collections.abc import Mapping

from cfbench.harness.presets import MODELS as MODEL_NAMES
from cfbench.harness.presets import PAPER_DATASETS, PAPER_OBJECTIVES, PAPER_SEARCHERS

SEARCHER = "cogs"
"""The searcher of the paper's experiments on robustness."""

EXACT = "exact-forest"
"""The searcher that proves optima on forests."""

DATASETS: Mapping[str, str] = dict(zip(PAPER_DATASETS, ("Cre", "Inc", "Hou", "Pro", "Rec"), strict=True))
"""The data sets with the paper's abbreviations."""

MODELS: Mapping[str, str] = {name: name.replace("-", " ") for name in MODEL_NAMES}

SEARCHERS: Mapping[str, str] = dict(
    zip(PAPER_SEARCHERS, ("CoGS", "DiCE-a", "DiCE-b", "GrSp", "LORE", "NeMe"), strict=True)
)

ROBUSTNESS: Mapping[str, str] = dict(zip(PAPER_OBJECTIVES, ("None", "C", "K", "C and K"), strict=True))
"""The notions of robustness that a search accounts for, by objective."""

PARTS: Mapping[str, str] = {"c": "C", "k": "K", "ck": "C and K"}
"""The features that a perturbation concerns."""

DISTRIBUTIONS = ("uniform", "normal")

SAMPLES = (0, 4, 16, 64)
"""The paper's values of m; 0 is the same search without the term for K."""

TOLERANCES = (1, 5, 10)
"""For accidental robustness, in percent of a feature's range."""
