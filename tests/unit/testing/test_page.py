"""docs/conformance.md has the checks' own sentences, in their order."""

from __future__ import annotations

import re
from pathlib import Path

from cfbench.testing.searchers.table import SEARCHER_CHECKS

PAGE = (Path(__file__).parents[3] / "docs" / "conformance.md").read_text(encoding="utf-8")


def test_the_pages_table_is_the_checks() -> None:
    rows = re.findall(r"^\| `[a-z0-9-]+` \| .*$", PAGE, flags=re.MULTILINE)
    expected = [f"| `{check.name}` | {check.guards} | {check.mend} |" for check in SEARCHER_CHECKS]
    assert rows == expected, "\n".join(["the table should be", *expected])
