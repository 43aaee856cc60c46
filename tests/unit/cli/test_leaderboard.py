"""``cfbench leaderboard`` on small records."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from cfbench.analysis.ranks import DEFAULT_TOLERANCE
from cfbench.board.board import FORMATS, print_leaderboard
from cfbench.cli import cli, main
from cfbench.cli.leaderboard import command, names_in
from cfbench.errors import CfbenchError, StudyError
from cfbench.record.store import Record
from cfbench.registry.registry import build_registry
from tests.unit.cli.written_cells import write_cell

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Board


def test_the_overall_table(board: Board) -> None:
    result = board()
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    # wine alone was asked of both; its points have the ranks 1 2, 1 2 and, tied, 1.5 1.5; on the two that both solved
    # the best losses are 0.2 and 0.2, lore's 0.3 and 0.2
    assert ["1", "cogs", "3", "100.0%", "1.2", "+0%", "1", "0.50", "100"] in lines
    assert ["2", "lore", "2", "66.7%", "1.8", "+25%", "0", "0.50", "100"] in lines
    assert "Note: too few tasks for a test: 1 task; 2 searchers need 6" in result.output
    assert (
        "Note: tasks in no rank, as few searchers did them: credit, random-forest, objective none, constr"
        in result.output
    )


@pytest.mark.parametrize("wrong", ["-0.1", "1", "1.5", "inf", "nan"])
def test_a_tolerance_that_makes_no_sense_is_refused(board: Board, wrong: str) -> None:
    result = board("--tie", wrong)
    assert isinstance(result.exception, StudyError)
    assert f"(--tie) is {float(wrong)!r}; it must be a number from 0" in str(result.exception)


def test_the_tolerance_decides_and_is_in_every_rendering(board: Board) -> None:
    # wine: cogs has 0.2, 0.4, 0.2 and lore 0.3, nothing, 0.2: with 60 % of the better value 0.2 and 0.3 are ties, too.
    usual, loose = (json.loads(board("--format", "json", *more).stdout) for more in ((), ("--tie", "0.6")))
    assert (usual["tie"], loose["tie"]) == (
        {"relative": 0.001, "absolute": 0.0001},
        {"relative": 0.6, "absolute": 0.06},
    )
    ranks = [[row["rank"] for row in content["tables"][0]["rows"]] for content in (usual, loose)]
    assert ranks == [pytest.approx([3.5 / 3, 5.5 / 3]), pytest.approx([4 / 3, 5 / 3])]
    for form, sentence in (
        ("table", "values within 60 % or 0.06 of the best are ties"),
        ("markdown", "values within 60 % or 0.06 of the best are ties"),
        ("latex", r"values within 60 \% or 0.06 of the best are ties"),
        ("csv", ",0.6,"),
    ):
        assert sentence in " ".join(board("--tie", "0.6", "--format", form).stdout.split())
    assert "only equal values are ties" in " ".join(board("--tie", "0").stdout.split())


def test_help_names_the_usual_tolerance(board: Board) -> None:
    text = " ".join(CliRunner().invoke(cli, ["leaderboard", "--help"]).stdout.split())
    assert f"[default: {DEFAULT_TOLERANCE.relative}]" in text


def test_the_tables_of_single_tasks(board: Board) -> None:
    result = board("--group-by", "task")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert ["cogs", "100.0", "1", "of", "1", "0.100", "reference", "-", "1", "0.500", "100"] in lines
    # lore: 1 of 2 points in fold 0, 1 of 1 in fold 1; relative change 0.5 and 0
    assert [
        *("lore", "75.0", "±", "25.0", "2", "of", "3", "0.250", "+25.0%", "2", "of", "3", "3", "0.500", "100")
    ] in lines


def test_piped_output_is_plain_and_fits(board: Board) -> None:
    output = board().stdout
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) <= 100


def test_another_reference(board: Board) -> None:
    result = board("--reference", "lore", "--dataset", "wine", "--group-by", "task", "--format", "csv")
    rows = {row["searcher"]: row for row in csv.DictReader(io.StringIO(result.stdout))}
    # cogs beside lore: (0.2 - 0.3) / 0.3 and 0
    assert float(rows["cogs"]["relative_loss_median"]) == pytest.approx(-1 / 6)
    assert rows["lore"]["relative_loss_median"] == ""


def test_selections(board: Board) -> None:
    assert len(json.loads(board("--format", "json").stdout)["rows"]) == 3
    assert len(json.loads(board("--format", "json", "--dataset", "credit").stdout)["rows"]) == 1
    assert len(json.loads(board("--format", "json", "--model", "random-forest").stdout)["rows"]) == 3
    assert len(json.loads(board("--format", "json", "--objective", "none").stdout)["rows"]) == 3


def test_one_searcher_and_one_column(board: Board) -> None:
    result = board("--searcher", "lore", "--columns", "mean-loss,searches", "--columns", "not-found")
    assert result.exit_code == 0, result.output
    header = next(line for line in result.stdout.splitlines() if line.startswith("    searcher"))
    assert header.split() == ["searcher", "loss", "searches", "not"]
    assert " -  lore      0.250" in result.stdout


def test_sorted_and_in_parts(board: Board) -> None:
    result = board("--dataset", "wine", "--by", "rank", "--group-by", "model", "--on", "own-successes")
    assert result.exit_code == 0, result.output
    assert "model random-forest" in result.stdout
    assert "each on its own successes, which rewards giving up on hard points" in " ".join(result.stdout.split())


def test_constraints_and_a_protocol_are_selected(board: Board) -> None:
    assert board("--constraints", "off").exit_code == 0
    assert "Known: off" in str(board("--constraints", "on").exception)
    assert "unknown protocol version of these cells '7'" in str(board("--protocol", "7").exception)


def test_the_command_offers_every_format() -> None:
    (option,) = [option for option in command.params if option.name == "form"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == FORMATS


def test_names_are_split_at_commas_outside_brackets() -> None:
    assert names_in(["rank, loss,,", "invalidity[part=c,draws=10],found"]) == [
        *("rank", "loss", "invalidity[part=c,draws=10]", "found")
    ]
    assert names_in(["odd[a"]) == ["odd[a"]
    with pytest.raises(StudyError, match="--columns ',' names no column; write names, as in rank,loss"):
        names_in([","])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--columns", "rnak"), "unknown column 'rnak'. Did you mean 'rank'? Known: rank, "),
        (("--by", "rnak"), "unknown column of this table 'rnak'. Did you mean 'rank'? Known: rank, "),
        (("--searcher", "lor"), "unknown searcher of this record 'lor'. Did you mean 'lore'? Known: lore, cogs."),
        (("--reference", "cog"), "unknown reference searcher 'cog'. Did you mean 'cogs'? Known: cogs, lore."),
        (("--dataset", "vine"), "unknown data set of this record 'vine'. Did you mean 'wine'? Known: wine, credit."),
        (("--model", "tree"), "unknown model of this record 'tree'. Known: random-forest."),
        (("--objective", "ck"), "unknown objective of this record 'ck'. Known: none."),
    ],
)
def test_unknown_names_list_those_of_the_record(board: Board, arguments: tuple[str, ...], message: str) -> None:
    result = board(*arguments)
    assert isinstance(result.exception, CfbenchError)
    assert str(result.exception).startswith(message)


def test_nothing_to_show_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    with Record.open(empty, write=True):
        pass
    for place in ("absent", "empty"):
        with pytest.raises(SystemExit) as stopped:
            main(["leaderboard", "--results", str(tmp_path / place)])
        assert stopped.value.code == 1
        assert f"cfbench run --results {tmp_path / place}" in capsys.readouterr().err


def test_searches_without_a_finished_cell_are_counted(tmp_path: Path) -> None:
    with Record.open(tmp_path / "begun", write=True) as record:
        write_cell(record, "cogs", [0.2, None], finish=False)
        write_cell(record, "lore", [0.3], finish=False)
    result = CliRunner().invoke(cli, ["leaderboard", "--results", str(tmp_path / "begun")])
    assert isinstance(result.exception, CfbenchError)
    message = str(result.exception)
    assert "it holds 3 searches, but no finished cell" in message
    assert "the same `cfbench run` command goes on" in message
    assert "--preset" not in message


def test_a_run_under_way_is_shown_as_far_as_its_cells_are_finished(results: Path, board: Board) -> None:
    with Record.open(results, write=True) as record:
        write_cell(record, "cogs", [0.3], fold=2, finish=False)
        result = board()
    assert result.exit_code == 0
    assert "5 cells" in result.stdout
    assert "Note: unfinished cells, whose searches under way are in no number yet: 1" in result.stdout


def test_a_run_prints_the_board_of_its_record(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Record.open(results) as record:
        print_leaderboard(record, build_registry())
    assert capsys.readouterr().out == CliRunner().invoke(cli, ["leaderboard", "--results", str(results)]).stdout


def test_a_run_that_finished_no_cell_prints_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Record.open(tmp_path / "empty", write=True) as record:
        print_leaderboard(record, build_registry())
    assert capsys.readouterr().out == "no finished cells yet: nothing to show\n"


@pytest.mark.slow
def test_it_runs_without_mlflow_and_scikit_learn(results: Path) -> None:
    program = (
        "import sys\n"
        "from cfbench.cli import cli\n"
        f"cli.main(['leaderboard', '--results', {str(results)!r}], standalone_mode=False)\n"
        "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "cfbench" in loaded
    assert loaded.isdisjoint({"mlflow", "sklearn", "scipy", "matplotlib", "numba"})
