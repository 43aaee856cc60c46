"""`cfbench report` with a third party's report: what it writes, prints and refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.errors import CfbenchError, PluginError, RecordError, UnknownNameError
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished

PLUGIN = """
from cfbench import CfbenchError, ReportEntry, hookimpl
from cfbench.analysis import RenderedReport


def counts(context):
    found = {cell.info.searcher: cell.searches for cell in context.record.summaries().values()}
    name = context.dataset("wine").name
    return RenderedReport(
        {"page.txt": repr(found).encode(), "more/data.csv": name.encode()},
        said=f"{len(found)} searcher",
        problems=("one \\x1b[31mproblem",),
    )


def crashes(context):
    return context.nothing


def refuses(context):
    raise CfbenchError("it needs two searchers")


@hookimpl
def cfbench_register_reports():
    yield ReportEntry(name="counts", render=counts, first_steps=lambda path, name: f"Start: {name} run {path}")
    yield ReportEntry(name="crashes", render=crashes)
    yield ReportEntry(name="refuses", render=refuses)
    yield ReportEntry(name="text", render=lambda context: "text")
"""


@pytest.fixture
def report(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    finished_cell: Callable[..., CellFinished],
    put_cell: Callable[[Record, CellFinished], None],
) -> Callable[..., Result]:
    """Run the command in a folder with a record of one cell and a file with reports."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PLUGIN)
    with Record.open(tmp_path / "results", write=True) as record:
        put_cell(record, finished_cell([0.5, 0.25]))
    return lambda *arguments: CliRunner().invoke(cli, ["report", *arguments, "--plugin", "mine.py"])


def test_files_and_words(report: Callable[..., Result]) -> None:
    result = report("counts")
    assert result.exit_code == 0, result.output
    assert Path("counts-report/page.txt").read_text() == "{'cogs': 2}"
    assert Path("counts-report/more/data.csv").read_text() == "wine"
    assert result.stdout == "1 searcher\n\nWrote 2 files; the page is counts-report/page.txt\n"
    assert result.stderr == "Warning: one \ufffd[31mproblem\n"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["count"], UnknownNameError, "unknown report 'count'. Did you mean 'counts'"),
        (["crashes"], PluginError, "report crashes: it raised AttributeError"),
        (["refuses"], CfbenchError, "it needs two searchers"),
        (["text"], PluginError, "report text: its function returned str; it must return"),
        (["counts", "--results", "away"], RecordError, "does not exist. Start: cfbench run away"),
        (["crashes", "--results", "away"], RecordError, "the folder does not exist."),
        (["counts", "--output", "results"], RecordError, "results is a record"),
        (["counts", "--output", "mine.py"], CfbenchError, "mine.py cannot be written: mine.py is a file"),
    ],
)
def test_what_it_refuses(
    arguments: list[str], error: type[Exception], message: str, report: Callable[..., Result]
) -> None:
    raised = report(*arguments).exception
    assert isinstance(raised, error)
    assert message in str(raised)
    assert not Path("counts-report").exists()
