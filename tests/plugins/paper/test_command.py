"""``cfbench report paper``: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.errors import CfbenchError, RecordError
from cfbench.record.store import Record
from tests.plugins.paper.records import put

pytestmark = pytest.mark.slow


def report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["report", "paper", *map(str, arguments)])


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Result]]:
    """The folder that a record of two cells became, and what the command said."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFBENCH_CACHE_DIR", str(folder / "cache"))
        patch.delenv("CFBENCH_DATA_DIR", raising=False)
        with Record.open(folder / "results", write=True) as record:
            put(record, [(row, 0.2, 1.0) for row in range(6)], measures={"k-robustness": [0.5] * 6})
            put(record, [(row, 0.3, 2.0) for row in range(6)], objective="c", step=20.0)
        yield folder / "out", report("--results", folder / "results", "--output", folder / "out")


def test_files(rendered: tuple[Path, Result]) -> None:
    output, result = rendered
    assert result.exit_code == 0, result.output
    kinds = {path.suffix for path in output.rglob("*") if path.is_file()}
    assert kinds == {".html", ".md", ".csv", ".svg", ".png"}
    names = {path.stem for path in (output / "tables").iterdir()}
    assert {
        "accidental",
        "success",
        "data-sets",
        "settings",
        "significance-housing",
        "accuracy-neural-network",
    } <= names
    figures = {path.stem for path in (output / "figures").iterdir()}
    assert {
        "fixability-random-forest",
        "relative-cost-published-neural-network-normal",
        "run-times-random-forest",
    } <= figures
    assert all(
        (output / "figures" / f"{name}{kind}").is_file() for name in figures for kind in (".svg", ".png", ".csv")
    )
    assert f"Wrote {len([*output.rglob('*.*')])} files; the page is {output / 'paper.html'}" in result.output


def test_numbers_of_the_record_are_in_the_files(rendered: tuple[Path, Result]) -> None:
    output, _ = rendered
    text = (output / "figures" / "cost-of-robustness-random-forest.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    (mine,) = [row for row in rows if row["data set"] == "Hou" and row["accounted for"] == "C"]
    assert mine["n"] == "6"
    assert float(mine["median"]) == pytest.approx(1.5)
    accidental = (output / "tables" / "accidental.md").read_text("utf-8")
    # CRIM moves by 20 more, of a range of 89: no match within 10 %.
    assert "0.00 (0 of 6); paper 0.85 ± 0.09 [1, 4, 12, 15]" in accidental
    page = (output / "paper.html").read_text("utf-8")
    assert "On robustness: 2 cells" in page


def test_it_says_what_holds_and_what_is_missing(rendered: tuple[Path, Result]) -> None:
    _, result = rendered
    assert "statements that stand for the paper's claims" in result.output
    # As many rows; seconds have no threshold.
    assert "  holds               Accounting for C costs no time: 1.000 [1.000, 1.000], n = 6" in result.output
    assert "claimed at most 1; the authors: no number" in result.output
    assert "This record lacks 138 cells of the paper's experiments" in result.output
    assert "Add it with\n  cfbench run --dataset" in result.output
    assert "cfbench measure --preset paper --results" in result.output
    assert "data set productivity is not at hand" in result.stderr


def test_nothing_to_show_names_the_commands(tmp_path: Path, record: Record) -> None:
    absent = report("--results", tmp_path / "absent", "--output", tmp_path / "out").exception
    assert isinstance(absent, RecordError)
    assert "absent: the folder does not exist. For a first comparison" in str(absent)
    assert "cfbench run --dataset credit" in str(absent)
    assert "cfbench measure --preset paper" in str(absent)
    put(record, [(7, 0.2, 1.0)], searcher="random-search", constraints=False)
    others = report("--results", record.path, "--output", tmp_path / "out").exception
    assert isinstance(others, CfbenchError)
    assert "holds no finished cell of the paper's experiments, though 1 of others" in str(others)
    assert "cfbench run --preset paper" in str(others)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path, record: Record) -> None:
    put(record, [(7, 0.2, 1.0)])
    (tmp_path / "file").write_text("mine")
    for output in (tmp_path / "file", tmp_path / "file" / "below"):
        refused = report("--results", record.path, "--output", output).exception
        assert isinstance(refused, CfbenchError)
        assert f"{output} cannot be written: {tmp_path / 'file'} is a file" in str(refused)
        assert "--output" in str(refused)
    assert (tmp_path / "file").read_text() == "mine"
