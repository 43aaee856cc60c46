"""The page on reproducing the paper against the code that it points to."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import build_registry
from cfbench.running.measure import cell_metrics
from cfbench.study.plan import make_plan, metrics_of
from cfbench.study.study import read_study
from cfbench.study.variants import resolve_variant
from cfbench_paper.evidence import NEEDED
from cfbench_paper.presets import OBJECTIVES, PAPER_METRICS, SAMPLES
from tests.packaging.sources import ROOT

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
    preset = {text.partition("[")[0] for text in (*PAPER_METRICS, *OBJECTIVES, *SAMPLES)}
    assert {
        "k-robustness",
        "fixability",
        "invalidity",
        "relative-cost",
        "relative-cost-published",
        "k",
        "ck",
    } <= preset & names


def test_the_study_of_the_record_has_all_that_the_report_needs() -> None:
    registry = build_registry()
    study = read_study(ROOT / "leaderboard" / "paper.toml")
    measured = cell_metrics(metrics_of(study, registry), registry)
    needed = cell_metrics([resolve_variant(registry, "metric", text) for text in NEEDED], registry)
    assert {one.label for one in needed} <= {one.label for one in measured}
    anywhere = study.model_copy(update={"optional_datasets": study.datasets})
    plan = make_plan(anywhere, registry, DataSource((), Path("nowhere"), download=False))
    credit = [cell for cell in plan.cells if cell.dataset == "credit" and cell.searcher.name != "exact-trees"]
    counts = Counter((cell.searcher.name, cell.info.objective, cell.constraints) for cell in credit)
    robust = {("cogs", objective, True): 10 for objective in (*OBJECTIVES, *SAMPLES)}
    searchers = ("cogs", "growing-spheres", "nelder-mead", "lore")
    assert counts == robust | {(searcher, "none", False): 10 for searcher in searchers}
    # All points without constraints; with them 20, and five repetitions on fold 0 under none alone.
    assert {cell.points for cell in credit if not cell.constraints} == {None}
    assert {cell.points for cell in credit if cell.constraints} == {20}
    several = {(cell.fold, cell.info.objective, cell.constraints) for cell in credit if cell.repetitions == 5}
    assert several == {(0, "none", True)}
