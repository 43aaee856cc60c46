"""The page on reproducing the paper against the code that it points to."""

from __future__ import annotations

import re
from pathlib import Path

from cfbench.harness.presets import PAPER_METRICS, PAPER_OBJECTIVES, PAPER_SAMPLES
from cfbench.registry import build_registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproduce-the-paper.md").read_text(encoding="utf-8")


def test_every_decision_points_to_code_that_is_there() -> None:
    table = PAGE.partition("## Decisions")[2].partition("\n## ")[0]
    places = re.findall(r"`((?:cfbench|plugins)/[\w/]+\.py)`", table)
    assert len(set(places)) > 10
    assert [place for place in places if not (ROOT / place).is_file()] == []
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert all(re.search(r"`(?:cfbench|plugins)/[\w/]+\.py` \|$", row) for row in rows)


def test_what_the_page_names_is_registered_and_in_the_preset() -> None:
    registry = build_registry()
    table = PAGE.partition("| question |")[2].partition("\n## ")[0]
    names = {name.partition("[")[0] for name in re.findall(r"`([a-z][\w=\[\]-]*)`", table)}
    assert names <= {*registry.metrics, *registry.objectives}
    preset = {text.partition("[")[0] for text in (*PAPER_METRICS, *PAPER_OBJECTIVES, *PAPER_SAMPLES)}
    assert {
        "k-robustness",
        "fixability",
        "invalidity",
        "relative-cost",
        "relative-cost-published",
        "k",
        "ck",
    } <= preset & names
