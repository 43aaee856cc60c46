"""A board names the command that fills the gap of a searcher that is not ranked: run as it stands, it does."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cfbench
from cfbench.board.board import Leaderboard
from cfbench.cli import cli
from cfbench.record.archive import pack_record
from cfbench.record.store import Record

TOY = Path(__file__).parents[2] / "toys" / "toy_plugin.py"
WHOLE: dict[str, Any] = {
    "datasets": ["toy"],
    "models": ["threshold"],
    "searchers": ["toy-dice", "toy-both"],
    "folds": [0, 1],
    "points": 3,
    "repetitions": 1,
    "seed": 7,
    "tracking": "none",
}

Run = Callable[..., None]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def of(results: str, **changes: Any) -> None:
        cfbench.run({**WHOLE, **changes}, plugins=[TOY], results=results)

    return of


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def states(shown: Leaderboard) -> dict[str, str]:
    return {row.label: row.state.value for row in shown.board.standings.rows}


def commands_in(text: str) -> list[Sequence[str]]:
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  cfbench ")]


def board_of(results: str, **options: Any) -> Leaderboard:
    return cfbench.leaderboard(results, plugins=[str(TOY)], reference="toy-dice", **options)


@pytest.mark.slow
def test_the_command_ranks_who_was_not(run: Run) -> None:
    run("a b")
    # The second has one of two folds and one of its three points, with a limit of its own.
    run("a b", searchers=["toy-give-up"], folds=[0], points=1, query_budget=900)
    before = board_of("a b")
    assert states(before)["toy-give-up"] == "not ranked"
    (gap,) = before.gap_commands()
    assert gap.searchers == ("toy-give-up",)
    printed = invoke("leaderboard", "--results", "a b", "--plugin", str(TOY)).stdout
    assert "To rank toy-give-up:" in printed
    (command,) = commands_in(printed)
    assert command == shlex.split(gap.commands[0])[1:]
    expected = [
        "--fold",
        "0",
        "--fold",
        "1",
        "--points",
        "3",
        "--repetitions",
        "1",
        "--query-budget",
        "900",
        "--seed",
        "7",
    ]
    assert command[-len(expected) - 2 :] == [*expected, "--results", "a b"]
    assert command[:3] == ["run", "--plugin", str(TOY)]
    ended = invoke(*command, "--tracking", "none", "--workers", "1")
    assert ended.exit_code == 0, ended.output
    after = board_of("a b")
    assert states(after)["toy-give-up"] == "ranked"
    assert after.gap_commands() == []
    assert "To rank" not in str(after)
    assert json.loads(before.render("json"))["commands"] == [
        {"searchers": ["toy-give-up"], "commands": list(gap.commands)}
    ]


def test_searchers_with_one_gap_share_a_command(run: Run) -> None:
    run("r")
    run("r", searchers=["toy-give-up"], folds=[0], points=1)
    run("r", searchers=["toy-crash"], folds=[0], points=1)
    (gap,) = board_of("r").gap_commands()
    assert gap.searchers == ("toy-crash", "toy-give-up")
    assert "--searcher toy-crash --searcher toy-give-up" in gap.commands[0]
    assert "--fold 0 --fold 1 --points 3" in gap.commands[0]


def test_a_searcher_with_another_seed_gets_the_seed_of_the_others(run: Run) -> None:
    run("r")
    run(
        "r", searchers=["toy-give-up"], seed=8
    )  # other points of the same folds, of three of which some may be the same
    (gap,) = board_of("r").gap_commands()
    assert "--fold 0 --fold 1 --points 3 --repetitions 1 --seed 7" in gap.commands[0]
    ended = invoke(*shlex.split(gap.commands[0])[1:], "--tracking", "none", "--workers", "1")
    assert ended.exit_code == 0, ended.output
    assert states(board_of("r"))["toy-give-up (seed=7)"] == "ranked"


def test_next_to_the_published_record_your_gap_alone_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("there")
    run("there", searchers=["toy-crash"], folds=[0], points=1)
    with Record.open(Path("there")) as record:
        pack_record(record, Path("packed"))
    monkeypatch.setattr("cfbench.analysis.published.published_record", lambda: Path("packed"))
    run("mine", searchers=["toy-give-up"], folds=[0], points=1)
    shown = board_of("mine", with_published=True)
    assert states(shown) == {
        "toy-dice": "ranked",
        "toy-both": "ranked",
        "toy-give-up [yours]": "not ranked",
        "toy-crash": "not ranked",
    }
    (gap,) = shown.gap_commands()
    assert gap.searchers == ("toy-give-up [yours]",)
    ended = invoke(*shlex.split(gap.commands[0])[1:], "--tracking", "none", "--workers", "1")
    assert ended.exit_code == 0, ended.output
    assert states(board_of("mine", with_published=True))["toy-give-up [yours]"] == "ranked"
    own = board_of("mine", with_published=True, on="own-points")
    assert states(own)["toy-give-up [yours]"] == "ranked"


def test_a_packed_record_is_filled_in_another_folder(run: Run) -> None:
    run("r")
    run("r", searchers=["toy-give-up"], folds=[0], points=1)
    with Record.open(Path("r")) as record:
        pack_record(record, Path("packed"))
    (gap,) = board_of("packed").gap_commands()
    for command in gap.commands:
        more = ["--tracking", "none", "--workers", "1"] if command.startswith("cfbench run") else []
        ended = invoke(*shlex.split(command)[1:], *more)
        assert ended.exit_code == 0, ended.output
    assert states(board_of("merged"))["toy-give-up"] == "ranked"
