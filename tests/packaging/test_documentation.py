"""What the documentation says exists: links, anchors, snippets, commands, targets."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from cfbench.cli import COMMANDS
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import build_registry
from cfbench.study.plan import make_plan
from cfbench.study.study import make_study
from tests.packaging.sources import ROOT, tree_of

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "datasets").rglob("*.md")],
)
page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def snippets(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8"))):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target}: there is no {linked.relative_to(ROOT)}"
        assert linked.is_relative_to(ROOT), f"{target} leaves the repository"
        if anchor:
            assert anchor in anchors(linked), f"{target}: {linked.name} has no such heading"


@page
def test_snippets_are_well_formed(page: Path) -> None:
    for code in snippets(page, "python"):
        compile(code, str(page), "exec")
    for text in snippets(page, "toml"):
        table = tomllib.loads(text)
        if "searchers" in table:
            assert make_study(table, page.name).datasets == tuple(table["datasets"])


@pytest.mark.slow
def test_the_study_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    registry, source = build_registry(), DataSource((), tmp_path, download=False)
    (text,) = snippets(ROOT / "README.md", "toml")
    plan = make_plan(make_study(tomllib.loads(text), "README.md"), registry, source)
    assert len(plan.cells) == 20  # 2 data sets, 2 searchers, 5 folds
    assert not any(cell.skipped for cell in plan.cells)


@page
def test_commands_and_targets_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = "\n".join([*re.findall(r"`([^`\n]+)`", prose(text)), *snippets(page, "(?:sh|console|bash)")])
    commands = re.findall(r"^(?:\$ )?cfbench ([a-z]\w*)", code, flags=re.MULTILINE)
    assert set(commands) <= set(COMMANDS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^(?:\$ )?make ([a-z]\w*)", code, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"the Makefile has no target {target}"


@page
def test_files_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"`((?:cfbench|plugins|datasets|tests|docs|benchmarks)/[\w./-]+\.\w+)`", page.read_text("utf-8"))
    assert [path for path in named if "NAME" not in path and not (ROOT / path).is_file()] == []


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for one in PAGES:
        if one.is_relative_to(ROOT / "docs") and one.name != "README.md":
            assert f"({one.relative_to(ROOT / 'docs').as_posix()})" in index, one.name


NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


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
