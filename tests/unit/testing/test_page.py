"""docs/conformance.md has the checks' own sentences, in their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cfbench.testing.check import Check
from cfbench.testing.datasets import DATASET_CHECKS
from cfbench.testing.metrics import METRIC_CHECKS
from cfbench.testing.models import MODEL_CHECKS
from cfbench.testing.objectives import OBJECTIVE_CHECKS
from cfbench.testing.searchers import SEARCHER_CHECKS
from cfbench.testing.suites import PRESET_CHECKS, REPORT_CHECKS

PAGE = (Path(__file__).parents[3] / "docs" / "conformance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("title", "checks"),
    [
        ("searchers", SEARCHER_CHECKS),
        ("models", MODEL_CHECKS),
        ("objectives", OBJECTIVE_CHECKS),
        ("metrics", METRIC_CHECKS),
        ("data sets", DATASET_CHECKS),
        ("presets", PRESET_CHECKS),
        ("reports", REPORT_CHECKS),
    ],
)
def test_the_pages_tables_are_the_checks(title: str, checks: Sequence[Check[Any, Any]]) -> None:
    (section,) = re.findall(rf"^## Checks of {title}\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\| `[a-z0-9-]+` \| .*$", section, flags=re.MULTILINE)
    expected = [f"| `{check.name}` | {check.guards} | {check.fix} |" for check in checks]
    assert rows == expected, "\n".join(["the table should be", *expected])
