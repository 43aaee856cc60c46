"""``cfbench compare`` on records of the toy plugin."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench import run
from cfbench.cli import cli
from cfbench.errors import RecordError, StudyError, UnknownNameError
from cfbench.record.store import Record
from tests.databases import execute
from tests.toys.studies import STUDY, TOY

Compare = Callable[..., Result]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three records: ``one``, ``more`` (three repetitions), ``other`` (with constraints)."""
    folder = tmp_path_factory.mktemp("records")
    study = {**STUDY, "searchers": ["toy-dice", "toy-both"], "folds": [0, 1], "points": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFBENCH_CACHE_DIR", str(folder / "cache"))
        run(study, plugins=[TOY], results=folder / "one")
        run(study, plugins=[TOY], results=folder / "more", repetitions=3, points=3, searchers=["toy-dice", "toy-talk"])
        run(study, plugins=[TOY], results=folder / "other", constraints=[True])
    return folder


@pytest.fixture
def compare(records: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    monkeypatch.chdir(records)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["compare", *arguments])

    return invoke


@pytest.mark.slow
def test_two_searchers_of_a_record(compare: Compare) -> None:
    result = compare("toy-both", "toy-dice", "--results", "one")
    assert result.exit_code == 0, result.output
    head, _, header, row, *rest = result.stdout.splitlines()
    assert head.startswith("toy-both against toy-dice, point by point   ")
    assert head.endswith("objective none, constraints off   record one")
    assert header.split() == ["task", "points", "wins", "ties", "losses", "difference", "95", "%", "interval", "on"]
    assert row.split()[:5] == ["toy,", "threshold", "8", "of", "8"]
    assert any(line.startswith("  cfbench explain --dataset toy --model threshold --fold ") for line in rest)


@pytest.mark.slow
def test_json_and_csv_hold_every_point(compare: Compare) -> None:
    content = json.loads(compare("toy-both", "toy-dice", "--results", "one", "--format", "json").stdout)
    lines = list(
        csv.DictReader(io.StringIO(compare("toy-both", "toy-dice", "--results", "one", "--format", "csv").stdout))
    )
    assert len(lines) == len(content["points"]) == content["all"]["points"] == 8
    for line, point in zip(lines, content["points"], strict=True):
        assert float(line["first_loss"]) == point["first_loss"]
        first, second = point["first_loss"], point["second_loss"]
        assert (point["first_value"], point["second_value"]) == (first, second)  # under objective none
        tie = abs(first - second) <= max(0.001 * min(first, second), 0.0001)
        assert point["outcome"] == ("tie" if tie else "win" if first < second else "loss")
    assert content["tie"] == {"relative": 0.001, "absolute": 0.0001}
    exact = json.loads(compare("toy-both", "toy-dice", "--results", "one", "--tie", "0", "--format", "json").stdout)
    for point in exact["points"]:
        assert point["outcome"] == ("win" if point["first_loss"] < point["second_loss"] else "loss")
    assert exact["all"]["ties"] == 0 < content["all"]["ties"]
    assert content["all"]["wins"] == sum(point["outcome"] == "win" for point in content["points"])
    reverse = json.loads(compare("toy-dice", "toy-both", "--results", "one", "--format", "json").stdout)["all"]
    assert (reverse["wins"], reverse["losses"]) == (content["all"]["losses"], content["all"]["wins"])
    assert reverse["median"] == pytest.approx(-content["all"]["median"])


def test_two_records(compare: Compare) -> None:
    result = compare("./one", "./more", "--format", "json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    (task,) = content["tasks"]
    assert (task["first"], task["second"]) == ("toy-dice", "toy-dice")
    # The first repetitions are the same searches, so the best of three is never worse.
    assert (task["wins"], task["points"], task["asked"]) == (0, 6, 8)
    assert any("the best of 1 against the best of 3 repetitions" in note for note in content["notes"])
    markdown = compare("./one", "./more", "--searcher", "toy-dice", "--format", "markdown").stdout
    assert markdown.startswith("**one against more, point by point")
    assert "| :-- | --: |" in markdown


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["toy-dice", "toy-bot", "--results", "one"], UnknownNameError, "Did you mean 'toy-both'"),
        (["toy-dice", "toy-dice", "--results", "one"], StudyError, "both are toy-dice"),
        (
            ["toy-dice", "toy-both", "--results", "nowhere"],
            RecordError,
            "in nowhere: the folder does not exist",
        ),
        (["toy-dice", "toy-both", "--results", "one", "--dataset", "toys"], UnknownNameError, "Did you mean 'toy'"),
        (["toy-dice", "toy-both", "--results", "one", "--constraints", "on"], UnknownNameError, "constraints"),
        (["toy-dice", "toy-both", "--results", "one", "--searcher", "x"], StudyError, "--searcher chooses among"),
        (
            ["./one", "toy-dice"],
            StudyError,
            "are not of one kind: ./one is a directory, and toy-dice is not a directory",
        ),
        (
            ["toy-dice", "./absent"],
            StudyError,
            "one kind: ./absent is written as the path of one, and toy-dice is not a directory",
        ),
        (["nosuch", "one"], StudyError, "are not of one kind: one is a directory, and nosuch is not a directory"),
        (["toy-dice", "toy-both", "--results", "one", "--protocol", "99"], UnknownNameError, "protocol version"),
        (["./one", "./one"], StudyError, "are one directory"),
        (["./one", "./cache"], RecordError, "there is no record in cache"),
        (["./one", "./other"], RecordError, "one and other have no search in common: one has toy, threshold, .*off"),
        (["./one", "./more", "--searcher", "toy-talk"], UnknownNameError, "unknown searcher of this record 'toy-talk'"),
    ],
)
def test_bad_requests(compare: Compare, arguments: list[str], kind: type[Exception], words: str) -> None:
    result = compare(*arguments)
    assert isinstance(result.exception, kind), result.output
    with pytest.raises(kind, match=words):
        raise result.exception


def test_a_record_of_another_protocol_is_refused(compare: Compare, records: Path, tmp_path: Path) -> None:
    Record.open(tmp_path / "old", write=True).close()
    execute(tmp_path / "old", "UPDATE study SET value = '0' WHERE name = 'protocol'")
    result = compare(str(records / "one"), str(tmp_path / "old"))
    assert "was written by protocol version 0" in str(result.exception)
