"""The script that fills the page of findings, on records made by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from cfbench_paper.claims import claims
from cfbench_paper.evidence import COMPARED, MEASURED

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("findings", ROOT / "docs" / "pictures" / "findings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rows() -> pd.DataFrame:
    """Credit with a forest: eight points, nothing and K accounted for; fixability 0.5 and 0.75."""
    frames = []
    for objective, fixable in (("none", 0.5), ("k", 0.75)):
        frame = pd.DataFrame({"row_id": range(8), "fold": 0, "found": True, "dataset": "credit"})
        frame = frame.assign(model="random-forest", objective=objective, cpu_seconds=1.0, queries=10.0)
        values = dict.fromkeys((*MEASURED, *COMPARED), np.nan)
        values |= {f"fixability/k/{distribution}": fixable for distribution in ("uniform", "normal")}
        frames.append(frame.assign(**values))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.slow
def test_values_of_a_figure_are_means_by_what_is_accounted_for(script: ModuleType, rows: pd.DataFrame) -> None:
    none, c, k, both = script.fixable(rows, "credit")["here"]
    assert (none.mean, none.n, k.mean, c, both) == (0.5, 8, 0.75, None, None)
    assert script.permanent(rows, "credit")["for nothing"][1] == 0.5
    svg = script.drawing(rows, "fixability")
    assert svg.count("not in this record") == 4  # the other data sets
    assert script.drawing(rows, "cost") is None


def test_statements_say_what_was_not_measured(script: ModuleType, rows: pd.DataFrame) -> None:
    lines = [line for line in script.statements(claims(rows)).splitlines() if line.startswith("| ")]
    assert len(lines) == 2 + 16
    (cre,) = [line for line in lines if "except on Cre" in line]
    assert "| does not hold | 0.250, 0.250 to 0.250 | 0.000 (goal 0.04: reached) | 8 | not at hand |" in cre
    assert sum("not measured" in line for line in lines) == 15


def test_blocks_are_replaced_and_emptied(script: ModuleType) -> None:
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert script.filled(page, {"x": "new"}) == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    assert script.filled(page, {"x": ""}) == "a\n<!-- x -->\n<!-- end of x -->\nb\n"
    with pytest.raises(ValueError, match="<!-- y -->"):
        script.filled(page, {"y": ""})


def test_both_pages_have_the_blocks(script: ModuleType) -> None:
    findings = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    names = [*(f"figure {name}" for name in script.FIGURES), "statements 1", "statements 2", "statements 3"]
    assert all(findings.count(f"<!-- {name} -->") == 1 for name in (*names, "relative cost", "gap"))
    assert "<!-- statements -->" in (ROOT / "docs" / "reproduce-the-paper.md").read_text(encoding="utf-8")
