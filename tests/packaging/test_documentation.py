"""What the documentation says exists: links, anchors, snippets, commands, targets."""

from __future__ import annotations

import ast
import json
import re
import runpy
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import cfbench
from cfbench.cli import COMMANDS
from cfbench.errors import DataError, StudyError
from cfbench.record.cells import TABLES
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import build_registry
from cfbench.study.plan import make_plan
from cfbench.study.study import make_study
from cfbench.tables.annotation import read_annotation
from tests.packaging.sources import PROJECT, ROOT, tree_of

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


def test_the_page_on_installing_lists_every_extra() -> None:
    table = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").partition("| extra |")[2].partition("\n\n")[0]
    firsts = [row.partition(" |")[0] for row in table.splitlines()[2:]]
    assert sorted(re.findall(r"`(\w+)`", "".join(firsts))) == sorted(PROJECT["project"]["optional-dependencies"])


def test_the_manuals_navigation_lists_every_page_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2].partition("\n\n")[0]
    listed = [path for path in re.findall(r": (\S+)$", nav, flags=re.MULTILINE) if not path.startswith("project/")]
    docs = ROOT / "docs"
    pages = [path for path in docs.rglob("*") if path.suffix in (".md", ".ipynb")]
    assert sorted(listed) == sorted(path.relative_to(docs).as_posix() for path in pages)


@page
def test_lists_are_read_alike_by_the_manual_and_the_repository(page: Path) -> None:
    """What belongs to an item of a list is indented by four spaces, and a paragraph ends before a list begins."""
    lines = re.sub(r"^ *```.*?^ *```", "```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE).split("\n")
    for before, line in pairwise(lines):
        assert not re.match(r" {1,3}([-*]|\d+\.) ", line), f"indent this item by four spaces: {line}"
        assert before or not re.match(r" {1,3}\S", line), f"indent this paragraph by four spaces: {line}"
        if re.match(r"([-*]|\d+\.) ", line):
            assert re.match(r"([-*#]|\d+\.|$| )", before), f"put an empty line before this item: {line}"
    assert not re.search(r"^ {1,3}```", page.read_text("utf-8"), flags=re.MULTILINE)


def test_the_citation_and_the_forms_fit_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert (citation["abstract"], citation["keywords"]) == (project["description"], project["keywords"])
    assert citation["authors"] == [{"name": "The cfbench developers"}]
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert {path.stem for path in forms} == {"bug", "submission"}
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= form.keys()
        assert len({field["id"] for field in form["body"]}) == len(form["body"])


def test_the_release_publishes_only_what_was_checked() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "build": None,
        "check": "build",
        "publish": "check",
    }
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    lines = "\n".join(step.get("run", "") for step in jobs["check"]["steps"])
    assert set(re.findall(r"cfbench ([a-z]\w*)", lines)) <= set(COMMANDS)


REFERENCE = ROOT / "docs" / "reference"


def test_the_reference_describes_every_name_of_the_top_level_once() -> None:
    described = re.findall(r"^::: cfbench\.(\w+)$", (REFERENCE / "api.md").read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(described) == sorted(set(cfbench.__all__) - {"__version__"})


def test_the_published_schemas_are_those_of_the_code() -> None:
    script = runpy.run_path(str(REFERENCE / "schemas.py"))
    assert {path.name for path in REFERENCE.glob("*.json")} == set(script["MODELS"])
    for name, model in script["MODELS"].items():
        again = "run python docs/reference/schemas.py"
        assert (REFERENCE / name).read_text(encoding="utf-8") == script["schema_of"](model), again


def schema_errors(name: str, content: dict[str, Any]) -> list[str]:
    schema = json.loads((REFERENCE / name).read_text(encoding="utf-8"))
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(content)]


STUDIES = [text for page in PAGES for text in snippets(page, "toml") if "searchers" in tomllib.loads(text)]


def test_the_schema_accepts_every_study_and_refuses_what_the_code_refuses() -> None:
    texts = [*STUDIES, *(path.read_text("utf-8") for path in (ROOT / "leaderboard").glob("*.toml"))]
    assert len(texts) > 3
    for text in texts:
        assert schema_errors("study.schema.json", tomllib.loads(text)) == []
    good: dict[str, Any] = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["cogs"]}
    wrongs: list[dict[str, Any]] = [
        {"points": 0},
        {"points": "some"},
        {"models": []},
        {"folds": [5]},
        {"time_limit": 0},
        {"seed": "42"},
        {"wokers": 2},
        {"parts": [{"pionts": 2}]},
        {"at_most": {"cogs": {"points": "all"}}},
    ]
    for wrong in wrongs:
        assert schema_errors("study.schema.json", good | wrong), wrong
        with pytest.raises(StudyError):
            make_study(good | wrong)
    assert schema_errors("study.schema.json", good | {"points": "all"}) == []


def test_the_schema_accepts_every_annotation_and_refuses_what_the_code_refuses(tmp_path: Path) -> None:
    paths = sorted((ROOT / "datasets").rglob("annotations.toml"))
    assert len(paths) > 4
    for path in paths:
        assert schema_errors("annotations.schema.json", tomllib.loads(path.read_text("utf-8"))) == []
    text = """
        [label]
        column = "class"
        classes = [0, "1"]
        target = 1

        [[features]]
        name = "job"
        kind = "categorical"
        categories = [1, "two"]
        perturbation = { categories = "all" }
    """
    file = tmp_path / "annotations.toml"
    for old, new, fits in [
        ("", "", True),
        ('"all"', '"one"', False),
        ("target = 1", "target = 1.5", False),
        ('kind = "categorical"', 'kind = "ordinal"', False),
        ('column = "class"', "", False),
        ("[[features]]", "[[feature]]", False),
        ('name = "job"', 'name = "job"\nintervall = [0, 1]', False),
    ]:
        changed = text.replace(old, new)
        file.write_text(changed, encoding="utf-8")
        errors = schema_errors("annotations.schema.json", tomllib.loads(changed))
        assert (errors == []) is fits, (new, errors)
        if fits:
            read_annotation(file)
        else:
            with pytest.raises(DataError):
                read_annotation(file)


def test_the_tables_of_the_record_are_those_of_the_code() -> None:
    sections = (REFERENCE / "formats.md").read_text(encoding="utf-8").split("\n### Table ")[1:]
    described = {}
    for section in sections:
        text = section.partition("\n## ")[0]
        (key,) = re.findall(r"key is\s+((?:`\w+`(?:, )?)+)\.", text)
        columns = re.findall(r"^\| `(\w+)` \| ([A-Z ]+) \| .+ \|$", text, flags=re.MULTILINE)
        described[text.partition("\n")[0].strip("`")] = tuple(re.findall(r"\w+", key)), columns
    assert described == {
        table.name: (table.key, [(name, kind.sql) for name, kind in table.fields.items()]) for table in TABLES
    }


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
