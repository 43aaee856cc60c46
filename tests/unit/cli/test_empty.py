"""Empty values are refused by every command, before anything is read."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from cfbench.cli import cli


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
