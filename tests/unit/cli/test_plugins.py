from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.cli.plugins import command
from cfbench.errors import PluginError

Install = Callable[..., None]

SEARCHERS = """
print("hello from the import")
from cfbench import Handles, Need, SearcherEntry, hookimpl

def stay(problem, rng):
    return None

@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(
        name="acme-stay", version="7", searcher=stay, summary="Stays [where it is]",
        handles=[Handles.CONSTRAINTS, Handles.CATEGORICAL], needs=[Need.FOREST], can_use=[Need.PROBABILITIES],
        returns_sets=True, default_budget=500, unavailable="needs a licence; buy one",
    )
"""


@pytest.fixture
def acme(install: Install) -> None:
    install("acme-search", {"acme": "acme_plugin"}, {"acme_plugin": SEARCHERS}, version="2.5")


@pytest.fixture
def broken(install: Install) -> None:
    install("broken", {"broken-plugin": "broken_plugin"}, {"broken_plugin": "import surely_absent\n"}, version="0.3")


@pytest.mark.usefixtures("acme", "broken")
def test_the_listing_has_what_a_searcher_declares_and_what_failed() -> None:
    result = CliRunner().invoke(command, [], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    lines = [line.strip() for line in result.output.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("acme-stay"))
    assert lines[start].split(maxsplit=1)[1] == "Stays [where it is]"
    assert lines[start + 1] == (
        "handles: categorical features, constraints; needs: the model's forest; can use: probabilities; white-box; "
        "returns sets; default budget: 500 queries"
    )
    assert lines[start + 2] == "unavailable: needs a licence; buy one"
    assert lines[start + 3] == "version 7, acme-search 2.5"
    assert any(
        line.startswith("broken-plugin (broken 0.3): it imports 'surely_absent', which is not installed")
        for line in lines
    )
    for title in ("Data sets", "Models", "Searchers", "Objectives", "Metrics", "Reporters"):
        assert title in lines


@pytest.mark.usefixtures("acme", "broken")
def test_json_is_one_document_whatever_plugins_print() -> None:
    result = CliRunner().invoke(command, ["--json"])
    listing = json.loads(result.stdout)
    (mine,) = [one for one in listing["searchers"] if one["name"] == "acme-stay"]
    assert mine == {
        "name": "acme-stay",
        "version": "7",
        "summary": "Stays [where it is]",
        "plugin": "acme",
        "distribution": "acme-search",
        "distribution_version": "2.5",
        "handles": ["categorical features", "constraints"],
        "needs": ["the model's forest"],
        "can_use": ["probabilities"],
        "returns_sets": True,
        "white_box": True,
        "default_budget": 500,
        "cost": "usual",
        "unavailable": "needs a licence; buy one",
    }
    (problem,) = [one for one in listing["problems"] if one["distribution"] == "broken"]
    assert problem["plugin"] == "broken-plugin"
    assert "surely_absent" in problem["reason"]
    assert "hello from the import" in result.stderr


@pytest.mark.usefixtures("broken")
def test_check_fails_where_anything_is_not_registered() -> None:
    assert CliRunner().invoke(command, ["--check"]).exit_code == 1
    assert CliRunner().invoke(command, ["--check", "--json"]).exit_code == 1
    strict = CliRunner().invoke(command, ["--strict"])
    assert isinstance(strict.exception, PluginError)


def test_everything_of_ours_is_registered() -> None:
    result = CliRunner().invoke(command, ["--check", "--json"])
    listing = json.loads(result.stdout)
    assert listing["problems"] == []
    assert result.exit_code == 0
    assert {"cfbench-console", "cfbench-tracking"} <= {one["name"] for one in listing["reporters"]}
    for kind, some in [
        ("datasets", {"credit", "income", "housing", "recidivism", "productivity", "wine"}),
        ("models", {"random-forest", "neural-network"}),
        ("searchers", {"cogs"}),
        ("objectives", {"none"}),
        ("metrics", {"success", "loss", "gower", "l0", "sparsity", "seconds", "queries", "relative-loss"}),
    ]:
        entries = {one["name"]: one for one in listing[kind]}
        assert some <= set(entries)
        assert all(one["summary"] and one["distribution"] == "counterfactual-bench" for one in entries.values())


def test_a_file_that_the_user_names_is_its_own_origin(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SEARCHERS)
    result = CliRunner().invoke(command, ["--plugin", str(file)], env={"COLUMNS": "400"})
    assert f"version 7, {file}" in result.output
