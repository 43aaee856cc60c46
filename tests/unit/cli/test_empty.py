"""Empty values, and folders that do not exist, are refused by every command, before anything is read or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.cli import cli
from cfbench.errors import RecordError


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["leaderboard", "--by", ""], "--by has an empty value; give it one, or leave it out"),
        (["leaderboard", "--columns="], "--columns has an empty value"),
        (["run", "--preset", " "], "--preset has an empty value"),
        (["plan", "--tracking", ""], "--tracking has an empty value"),
        (["report", "paper", "--output", ""], "--output has an empty value"),
        (["compare", "cogs", ""], "an argument is empty"),
    ],
)
def test_empty_values_are_refused(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_text_that_merely_ends_in_an_equals_sign_is_a_value() -> None:
    result = CliRunner().invoke(cli, ["plan", "--set", "cogs.population_size="])
    assert "empty" not in result.output


def test_a_fold_that_is_none_is_refused_by_its_options_name() -> None:
    explained = ["explain", "--dataset", "wine", "--model", "random-forest", "--point", "0"]
    for command in (["run"], ["plan"], ["fit"], ["tune"], explained):
        result = CliRunner().invoke(cli, [*command, "--fold", "5"])
        assert result.exit_code == 2, command
        assert "Invalid value for '--fold': 5 is not in the range 0<=x<=4" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["leaderboard", "--results", "nowhere"],
        ["leaderboard", "--results", "nowhere", "--with-published"],
        ["compare", "cogs", "lore", "--results", "nowhere"],
        ["compare", "nowhere/", "nowhere-else/"],
        ["measure", "--all", "--results", "nowhere"],
        ["verify", "nowhere"],
        ["merge", "nowhere", "nowhere-else", "--results", "whole"],
        ["drop", "--failed", "--results", "nowhere"],
        ["pack", "--results", "nowhere", "--output", "packed"],
        ["report", "paper", "--results", "nowhere"],
        ["explain", "--dataset", "wine", "--model", "random-forest", "--point", "0", "--results", "nowhere"],
        ["sync", "--results", "nowhere"],
        ["ui", "--results", "nowhere"],
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_a_folder_that_does_not_exist_is_named_with_what_to_do(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    result = CliRunner().invoke(cli, arguments)
    assert isinstance(result.exception, RecordError)
    assert "there is no record in nowhere: the folder does not exist. " in str(result.exception)
    assert "--results nowhere" in str(result.exception)
    assert "no cell is finished" not in str(result.exception)
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}
    assert not list(tmp_path.rglob("*.joblib"))  # no model was fitted first
