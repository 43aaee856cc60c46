"""``cfbench judge`` on the toy plugin: size + 0.5 [colour = blue] > 10 is class "large"; size may only grow."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cfbench
from cfbench import load_record
from cfbench.cli import cli
from cfbench.errors import CfbenchError, DataError, StudyError
from cfbench.record.store import Record
from tests.toys.runs import Toys
from tests.toys.studies import TOY

TASK = ["--dataset", "toy", "--model", "threshold", "--plugin", str(TOY)]
Lines = list[dict[str, str]]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lines:
    """The template of fold 0, as a table; the working directory is empty."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(cache))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = invoke("judge", "--example", *TASK)
    assert result.exit_code == 0, result.output
    found = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(found) >= 5
    assert all(line["factual.colour"] in {"red", "green", "blue"} for line in found)
    return found


def filled(line: dict[str, str], **changes: object) -> dict[str, str]:
    """Return a line with the factual as the counterfactual, with other values of some features."""
    found = {name: str(changes.get(name, line[f"factual.{name}"])) for name in ("size", "age", "colour")}
    return line | {f"counterfactual.{name}": value for name, value in found.items()}


def write(lines: Lines, name: str = "mine.csv") -> str:
    with Path(name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return name


def judge(lines: Lines, *options: str) -> Result:
    return invoke("judge", write(lines), *TASK, "--searcher", "by-hand", *options)


def test_results_are_judged_like_those_of_a_search(lines: Lines) -> None:
    size = float(lines[0]["factual.size"])
    lines[0] = filled(lines[0], size=15)
    lines[2] = filled(lines[2], size=25)
    lines[3] = filled(lines[3])
    lines[4] = filled(lines[4], size=15, age="")
    result = judge(lines)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1:4] == [
        f"invalid: line 4 (row {lines[2]['row']}): size = 25.0 is outside [0, 20]",
        f"invalid: line 5 (row {lines[3]['row']}): it returned x itself",
        f"invalid: line 6 (row {lines[4]['row']}): age has no value",
    ]
    record = load_record("results")
    assert record["status"].tolist()[:5] == ["found", "not_found", "invalid", "invalid", "invalid"]
    assert record["row_id"].tolist() == [int(line["row"]) for line in lines]
    first = record.iloc[0]
    # One of three features changes, by (15 - size) / 20 of its range: half of Gower's mean, half of the share.
    assert first["loss"] == pytest.approx(0.5 * (15 - size) / 20 / 3 + 0.5 / 3, abs=1e-12)
    assert first["l0"] == 1
    assert record[["wall_seconds", "cpu_seconds", "search_queries", "robustness_queries"]].isna().all(axis=None)


def test_constraints_apply_if_they_are_on(lines: Lines) -> None:
    """Row 17 has size 9.86 and is green: at size 9.7 and blue it is large, and its size may only grow."""
    assert (lines[0]["row"], lines[0]["factual.size"][:4]) == ("17", "9.86")
    changed = [filled(lines[0], size=9.7, colour="blue"), filled(lines[1], size=15)]
    assert "2 found" in judge(changed, "--constraints", "off").stdout
    result = judge(changed, "--constraints", "on")
    assert "1 found, 1 invalid" in result.stdout
    assert "invalid: line 2 (row 17): size = 9.7 breaks the constraint '>='" in result.stdout
    (cell,) = [one for one in Record.open(Path("results")).summaries().values() if one.info.constraints]
    assert dict(cell.statuses) == {"found": 1, "invalid": 1}


def test_a_board_marks_them_and_leaves_the_unknown_empty(lines: Lines) -> None:
    Toys(Path("../cache")).run(Path("results"), folds=(0,), points=2, repetitions=1, searchers=("toy-dice",))
    before = Record.open(Path("results")).summaries()
    judge([filled(line, size=15) for line in lines[:2]])
    assert before.items() <= Record.open(Path("results")).summaries().items()
    options = ("--results", "results", "--plugin", str(TOY))
    text = invoke("leaderboard", *options)
    assert text.exit_code == 0, text.output
    assert "by-hand [not run here]" in text.stdout
    assert "made elsewhere and judged here from files" in text.stdout
    board = json.loads(invoke("leaderboard", *options, "--format", "json").stdout)
    (row,) = [row for row in board["tables"][0]["rows"] if row["searcher"] == "by-hand"]
    assert row["not_run_here"]
    assert (row["seconds_mean"], row["queries_mean"]) == (None, None)
    (other,) = [row for row in board["tables"][0]["rows"] if row["searcher"] == "toy-dice"]
    assert not other["not_run_here"]
    assert other["queries_mean"] > 0
    page = invoke("leaderboard", *options, "--format", "html", "--output", "board.html")
    assert page.exit_code == 0, page.output
    assert "nothing here can run it again" in Path("board.html").read_text()
    assert "--searcher by-hand" not in Path("board.html").read_text()


def test_seconds_and_queries_are_shown_if_all_lines_have_them(lines: Lines) -> None:
    two = [
        filled(line, size=15) | {"seconds": seconds, "queries": "100"}
        for line, seconds in zip(lines, "13", strict=False)
    ]
    assert judge(two).exit_code == 0
    (cell,) = Record.open(Path("results")).summaries().values()
    assert (cell.wall_seconds, cell.search_queries, cell.robustness_queries) == (4.0, 200, 0)
    assert (cell.seconds, cell.queries) == ((1.0, 3.0), (100, 100))
    two[1]["seconds"] = "NA"
    assert judge(two).exit_code == 0
    (cell,) = Record.open(Path("results")).summaries().values()
    assert (cell.wall_seconds, cell.search_queries, cell.seconds) == (None, 200, (1.0, None))


def test_judging_again_replaces_the_results(lines: Lines) -> None:
    judge([filled(line, size=15) for line in lines[:3]])
    judge([filled(line, size=16) for line in lines[:2]])
    record = load_record("results")
    assert [z[0] for z in record["z"]] == [16, 16]


def test_searches_without_a_line_count_as_not_found(lines: Lines) -> None:
    result = judge([filled(lines[2], size=15)], "--points", "4")
    assert "3 searches without a line in the results count as not found" in result.stdout
    record = load_record("results")
    assert record["status"].tolist() == ["not_found", "not_found", "found", "not_found"]
    assert record["reason"].tolist() == ["the results have no line for it"] * 2 + [
        "",
        "the results have no line for it",
    ]
    result = judge([filled(lines[2], size=15)], "--points", "2")
    assert isinstance(result.exception, StudyError)
    assert "2 points do not fit: the results reach point 2" in str(result.exception)


def test_a_factual_that_is_another_case_makes_the_result_invalid(lines: Lines) -> None:
    wrong = filled(lines[0], size=15) | {"factual.age": "17.5"}
    shifted = filled(lines[1], size=15) | {"row": lines[2]["row"]}
    result = judge([wrong, shifted])
    row, age = lines[0]["row"], lines[0]["factual.age"]
    assert f"(row {row}): the factual is not row {row} of the data set: age is 17.5, and {age} there" in result.stdout
    assert f"these are the values of row {lines[1]['row']}, counted from 0" in result.stdout
    assert "2 invalid" in result.stdout


def test_factuals_without_row_numbers_are_found_by_their_values(lines: Lines) -> None:
    """R writes 15 digits: a number that differs in the 16th is the same, and an unchanged feature stays unchanged."""
    bare = []
    for line in lines[:2]:
        size = f"{float(line['factual.size']):.15g}"
        bare.append(
            {
                name: value
                for name, value in filled(line | {"factual.size": size}, colour="blue").items()
                if name != "row"
            }
        )
    result = judge(bare)
    assert result.exit_code == 0, result.output
    record = load_record("results")
    assert record["row_id"].tolist() == [int(line["row"]) for line in lines[:2]]
    assert all(z is None or z[0] == x[0] for x, z in zip(record["x"], record["z"], strict=True))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"row": "9999"}, "line 2: there is no row 9999 of toy: its rows are 0 to 59"),
        ({"row": "same"}, "line 3: the same point and repetition as line 2; give one result of each search"),
        ({"row": "large"}, "has nothing to explain: threshold puts it into the target class 'large' already"),
        ({"row": "other"}, "is a test row of fold 1, not of fold 0: judge it with --fold 1"),
        (
            {"row": "", "factual.age": "17.5"},
            "line 2: the factual is no eligible point of toy, fold 0, model threshold",
        ),
    ],
)
def test_lines_that_belong_to_no_point_are_refused(lines: Lines, changes: dict[str, str], problem: str) -> None:
    from cfbench.space.dataset import split
    from cfbench.study.sources import load_dataset

    toys = Toys(Path("../cache"))
    dataset = load_dataset(toys.registry.dataset("toy").entry, toys.source)
    first, second = filled(lines[0], size=15), filled(lines[1], size=15)
    if changes["row"] == "same":
        second = first
    else:
        rows = {
            "large": next(str(row) for row in split(dataset, 0).test if dataset.X[row, 0] > 11),
            "other": next(str(row) for row in split(dataset, 1).test),
        }
        first |= changes | {"row": rows.get(changes["row"], changes["row"])}
    result = judge([first, second])
    assert isinstance(result.exception, DataError)
    assert problem in str(result.exception)
    assert not Path("results/record.db").exists() or load_record("results").empty


def test_verify_says_what_cannot_be_run_again(lines: Lines) -> None:
    judge([filled(line, size=15) for line in lines[:3]])
    result = invoke("verify", "results", "--plugin", str(TOY))
    assert result.exit_code == 0, result.output
    assert "3 searches were not run here: their results were judged again" in result.stdout
    assert "3 counterfactuals judged again, 0 searches run again" in result.stdout
    with Record.open(Path("results"), write=True) as record:
        (cell,) = record.summaries().values()
        rows = record.rows(cell.info.key)
        record.adopt(cell.info, cell.content, cell.eligible, [row | {"loss": 0.0} for row in rows])
    result = invoke("verify", "results", "--plugin", str(TOY))
    assert result.exit_code == 1
    assert "recomputing loss for the stored z gives different values" in result.stderr


def test_the_name_of_a_registered_searcher_is_refused(lines: Lines) -> None:
    result = invoke("judge", write([filled(lines[0], size=15)]), *TASK, "--searcher", "toy-dice")
    assert isinstance(result.exception, CfbenchError)
    assert "'toy-dice' is the name of a registered searcher" in str(result.exception)


def test_from_python_with_frames(lines: Lines) -> None:
    import pandas as pd

    names = ("size", "age", "colour")
    factuals = pd.DataFrame([[line[f"factual.{name}"] for name in names] for line in lines[:2]], columns=names)
    found = factuals.assign(size=[15, 9], queries=[100, 200])
    task: dict[str, Any] = {"dataset": "toy", "model": "threshold", "searcher": "mine", "plugins": [str(TOY)]}
    judged = cfbench.judge(factuals, found, white_box=True, **task)
    assert judged.statuses == {"found": 1, "invalid": 1}
    assert judged.invalid == (f"row 1 (row {lines[1]['row']}): its class is 'small', not the target 'large'",)
    (cell,) = Record.open(Path("results")).summaries().values()
    assert cell.info.white_box
    assert cell.search_queries == 300
    assert math.isnan(judged.searches()["wall_seconds"].iloc[0])


def test_a_model_that_is_fitted_already_is_refused_with_the_reason() -> None:
    for command in (["judge", "--example"], ["export", "points", "--output", "out"]):
        with pytest.raises(StudyError, match=r"^mine\.joblib is a model of your own, and this command takes only"):
            CliRunner().invoke(cli, [*command, "--dataset", "wine", "--model", "mine.joblib"], catch_exceptions=False)
