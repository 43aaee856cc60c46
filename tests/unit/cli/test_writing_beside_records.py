"""What commands write never lies in a record, and commands that add to a record make none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.analysis import RenderedReport
from cfbench.cli import cli
from cfbench.cli.report import write
from cfbench.errors import RecordError, StudyError
from cfbench.record.archive import pack_record
from cfbench.record.store import Record
from cfbench.registry import CellFinished


@pytest.fixture
def results(
    tmp_path: Path, finished_cell: Callable[..., CellFinished], put_cell: Callable[[Record, CellFinished], None]
) -> Path:
    """A record of one cell, and the same packed in the folder ``packed`` beside it."""
    path = tmp_path / "results"
    with Record.open(path, write=True) as record:
        put_cell(record, finished_cell())
        pack_record(record, tmp_path / "packed")
    return path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("command", [["leaderboard"], ["leaderboard", "--format", "html"], ["report", "paper"]])
def test_nothing_is_written_into_a_record(results: Path, command: list[str]) -> None:
    packed = results.with_name("packed")
    before = contents(results), contents(packed)
    for output in (results / "record.db", results / "new", packed / "cells.parquet", results / "deep" / "new"):
        refused = invoke(*command, "--results", str(results), "--output", str(output)).exception
        assert isinstance(refused, RecordError), output
        assert "is a record, and nothing but the record is written there" in str(refused)
    assert (contents(results), contents(packed)) == before


def test_a_link_into_a_record_is_followed(results: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(results / "record.db")
    before = contents(results)
    arguments = ["--format", "csv", "--output", str(tmp_path / "link.csv")]
    assert isinstance(invoke("leaderboard", "--results", str(results), *arguments).exception, RecordError)
    assert contents(results) == before


def test_a_link_to_itself_is_in_no_record(results: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    output = tmp_path / "link"
    assert invoke("leaderboard", "--results", str(results), "--format", "csv", "--output", str(output)).exit_code == 0
    assert output.read_text().startswith("table,")


def test_a_link_in_a_record_is_a_part_of_it(results: Path, tmp_path: Path) -> None:
    database = results / "record.db"
    database.rename(tmp_path / "database")
    database.symlink_to(tmp_path / "database")
    refused = invoke("leaderboard", "--results", str(results), "--output", str(database)).exception
    assert isinstance(refused, RecordError)
    assert database.is_symlink()


def test_a_report_keeps_out_of_a_record_that_bears_a_name_of_its_folders(results: Path) -> None:
    before = contents(results)
    report = RenderedReport({"page.html": b"page", f"{results.name}/table.csv": b"table"})
    with pytest.raises(RecordError, match=f"{results.name} is a record"):
        write(report, results.parent)
    assert contents(results) == before
    assert not (results.parent / "page.html").exists()


def test_packing_keeps_out_of_records_and_of_what_it_reads(results: Path) -> None:
    packed = results.with_name("packed")
    before = contents(results), contents(packed)
    for source, output, reason in (
        (results, results / "new", "is a record, and nothing but the record is written there"),
        (results, packed / "new", "is a record, and nothing but the record is written there"),
        (packed, packed, "is to be packed into itself"),
    ):
        with pytest.raises(RecordError, match=reason):
            raise invoke("pack", "--results", str(source), "--output", str(output)).exception or AssertionError
    assert (contents(results), contents(packed)) == before


@pytest.mark.parametrize("name", ["new", "new/deep"])
def test_no_record_is_made_inside_another(results: Path, name: str) -> None:
    before = contents(results)
    with pytest.raises(RecordError, match=r"lies in the record .*results; name a directory outside of it"):
        raise invoke("merge", str(results), "--results", str(results / name)).exception or AssertionError
    assert contents(results) == before


@pytest.mark.parametrize(
    "command",
    [
        ["merge", "empty", "--results", "new"],
        ["pack", "--results", "empty", "--output", "new"],
        ["measure", "--results", "empty", "--all"],
    ],
)
def test_of_nothing_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Record.open(tmp_path / "empty", write=True).close()
    with pytest.raises(RecordError, match=r"there is nothing to (merge|pack|measure) in empty: no .*; `cfbench run`"):
        raise invoke(*command).exception or AssertionError
    assert not (tmp_path / "new").exists()


def test_the_models_table_stays_out_of_records(results: Path) -> None:
    assert isinstance(invoke("tune", "--output", str(results / "tuned.json")).exception, RecordError)
    assert not (results / "tuned.json").exists()


def test_a_page_is_not_the_file_of_its_numbers(results: Path, tmp_path: Path) -> None:
    arguments = ["--format", "html", "--output", str(tmp_path / "board.csv")]
    with pytest.raises(StudyError, match="is the file of the page's numbers; name a page"):
        raise invoke("leaderboard", "--results", str(results), *arguments).exception or AssertionError


@pytest.mark.parametrize("there", [True, False])
def test_measuring_makes_no_record(tmp_path: Path, *, there: bool) -> None:
    folder = tmp_path / "empty"
    if there:
        folder.mkdir()
    with pytest.raises(
        RecordError,
        match=r"(?s)there is no record in .*empty: the folder .*cfbench run --results .*empty",
    ):
        raise invoke("measure", "--all", "--results", str(folder)).exception or AssertionError
    assert folder.exists() == there
    assert not there or not list(folder.iterdir())
