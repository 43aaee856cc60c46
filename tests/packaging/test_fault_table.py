"""The tables of faults and of what is not trusted name tests that exist, and every fault that is tested."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def named(page: str) -> set[tuple[str, str]]:
    return set(NAMED.findall((ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", ["docs/faults.md", "SECURITY.md"])
def test_every_test_that_is_named_exists(page: str) -> None:
    assert len(named(page)) > 10
    assert [place for place in sorted(named(page)) if place[1] not in functions(ROOT / place[0])] == []


def test_every_fault_that_is_tested_is_in_the_table() -> None:
    tested = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "tests" / "faults").glob("test_*.py")
        for name in functions(path)
    }
    assert tested - named("docs/faults.md") == set()


def test_every_row_names_its_test() -> None:
    rows = [
        line for line in (ROOT / "docs" / "faults.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    assert [row for row in rows[2:] if not NAMED.search(row)] == []
