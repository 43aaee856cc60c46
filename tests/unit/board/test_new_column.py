"""A new column, and a third party's metric, are defined in one place and are shown in every rendering."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from cfbench import ComparisonContext, Direction, Found, Metric, MetricEntry, hookimpl
from cfbench.analysis.standings import Standings, StandingsRow
from cfbench.board.board import leaderboard_of
from cfbench.board.columns import COLUMNS, Column, groups_of, names_without_metrics, page_columns
from cfbench.board.page.render import render_page
from cfbench.cli import cli
from cfbench.record.frames import MEASURE_SCHEMA
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished
from cfbench.registry.registry import Registry, build_registry
from cfbench.space import FloatArray
from cfbench_reporters.summary import summarise, summary_charts, summary_table

LETTERS = Column[StandingsRow, Standings](
    "letters",
    lambda row: len(row.searcher.name),
    form=lambda number: f"{number} abc",
    direction=Direction.HIGHER,
    title="letters",
    unit="of its name",
    legend="how many letters the searcher's name has",
    group="names",
    default=True,
)


class Depth(Metric):
    """A third party's metric."""

    def measure(self, found: Found, context: object) -> FloatArray:
        return found.loss


DEPTH = MetricEntry(
    name="depth",
    metric=Depth,
    direction=Direction.HIGHER,
    unit="m",
    summary="how deep a result lies",
    header="deep",
    group="geology",
    percent=True,
    shown_by_default=True,
)


class Ratio(Metric):
    """A third party's comparison with the leaderboard's reference searcher."""

    power: float = 1.0

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        ratio: FloatArray = (found.loss / reference.loss) ** self.power
        return ratio


class Theirs:
    """A third party's plugin."""

    @hookimpl
    def cfbench_register_metrics(self) -> Iterable[MetricEntry]:
        yield DEPTH
        yield MetricEntry(name="ratio", metric=Ratio, header="times", direction=Direction.LOWER, summary="loss / loss")


@pytest.fixture
def registry() -> Registry:
    return build_registry(objects=[Theirs()])


@pytest.fixture
def results(
    tmp_path: Path,
    finished_cell: Callable[..., CellFinished],
    put_cell: Callable[[Record, CellFinished], None],
) -> Path:
    """A record of two searchers at two points, with values 0.5 of the third party's metric."""
    with Record.open(tmp_path / "results", write=True) as record:
        for number, (searcher, losses) in enumerate({"cogs": [0.2, 0.3], "lore": [0.4, 0.3]}.items()):
            cell = finished_cell(losses, info=replace(finished_cell().cell, key=str(number) * 32, searcher=searcher))
            put_cell(record, cell)
            rows = [(cell.cell.key, "depth", "1", "{}", point, 0, 0.5) for point in (0, 1)]
            record.write_measures(cell.cell.key, pd.DataFrame(rows, columns=MEASURE_SCHEMA.names))
    return tmp_path / "results"


def renderings(results: Path, registry: Registry) -> dict[str, str]:
    with Record.open(results) as record:
        shown = leaderboard_of(record, registry, shown_as=str(results))
        texts = {form: shown.render(form) for form in ("table", "markdown", "latex", "csv", "json")}
        names = [name for name in page_columns(registry) if name in (*COLUMNS, "depth")]
        page = leaderboard_of(record, registry, columns=names, shown_as=str(results))
        return texts | {"page": render_page(page, record, {}), "notebook": shown._repr_html_()}


def test_a_column_is_in_every_rendering(results: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COLUMNS, "letters", LETTERS)
    found = renderings(results, registry)
    assert next(csv.DictReader(io.StringIO(found.pop("csv"))))["letters"] == "4"
    assert [row["letters"] for row in json.loads(found.pop("json"))["tables"][0]["rows"]] == [4, 4]
    for form, text in found.items():
        for words in ("letters", "of its name", "4 abc", "how many letters the searcher"):
            assert words in " ".join(text.split()), (form, words)
    runs, described = summarise(results)
    assert [run.metrics["letters"] for run in runs] == [4, 4]
    assert "metrics.`letters`" in json.loads(summary_table({"letters"}, described))["selectedColumns"]
    assert '"name":"01 Names, higher is better"' in summary_charts({"letters"}, described)
    printed = " ".join(CliRunner().invoke(cli, ["leaderboard", "--help"]).output.split()).replace("- ", "-")
    assert "cells, not-found" in printed
    assert "letters, relative-loss; the columns of a group:" in printed
    assert "names, distances, robustness" in printed


def test_a_third_partys_metric_is_in_every_rendering(results: Path, registry: Registry) -> None:
    found = renderings(results, registry)
    assert [row["depth"] for row in csv.DictReader(io.StringIO(found.pop("csv")))] == ["0.5", "0.5"]
    assert [row["depth"] for row in json.loads(found.pop("json"))["tables"][0]["rows"]] == [0.5, 0.5]
    for form, text in found.items():
        for words in ("deep", "m", "+50", "depth: how deep a result lies; mean over tasks"):
            assert words in " ".join(text.split()), (form, words)
    assert "Loss against depth" in found["page"]
    with Record.open(results) as record:
        shown = leaderboard_of(record, registry, columns=["geology"])
        assert shown.columns == ("depth",)
        (number,) = [one for one in shown.numbers() if one.name == "depth"]
    assert (number.group, number.direction, number.is_main, number.is_metric) == (
        *("geology", Direction.HIGHER),
        *(True, True),
    )


def test_a_third_partys_comparison_is_a_column_with_any_settings(results: Path, registry: Registry) -> None:
    names = ["ratio", "ratio[power=2]"]
    with Record.open(results) as record:
        shown = leaderboard_of(record, registry, reference="cogs", columns=names, shown_as="here")
        assert shown.columns[0] == "ratio"
        by_searcher = shown.overall().set_index("searcher")
        frame = shown.to_frame().set_index("searcher")
    # lore: .4 / .2 = 2 and .3 / .3 = 1, of which the median is 1.5; squared 4 and 1, of which it is 2.5.
    assert by_searcher["ratio_median"]["lore"] == frame["ratio_median"]["lore"] == pytest.approx(1.5)
    assert by_searcher[f"{shown.columns[1]}_median"]["lore"] == pytest.approx(2.5)
    assert frame[f"{shown.columns[1]}_median"]["lore"] == pytest.approx(2.5)
    assert "vs cogs" in str(shown)
    assert "times" in str(shown)
    assert shown.columns[1] in str(shown)


def test_no_module_of_the_board_the_analysis_or_the_reporters_names_a_metric() -> None:
    # These are also names of columns or of fields of the record, and mean those.
    shared = {*COLUMNS, "success", "gower", "l0", "validity"}
    metrics = set(build_registry().metrics) - shared
    root = Path(__file__).parents[3]
    folders = (root / "cfbench" / "board", root / "cfbench" / "analysis", root / "plugins" / "cfbench_reporters")
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(modules) > 30
    named = [
        f"{path.name}:{node.lineno} {node.value}"
        for path in [*modules, root / "cfbench" / "cli" / "leaderboard.py"]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if any(re.search(rf"(?<![\w-]){metric}(?![\w-])", node.value) for metric in metrics)
    ]
    assert named == []


def test_the_page_on_the_leaderboard_has_every_column_and_group() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "leaderboard.md").read_text("utf-8")
    table = page.partition("## What the columns are")[2].partition("\n## ")[0]
    registry = build_registry()
    names = {name for name in names_without_metrics(registry) if name not in groups_of(registry)["failures"]}
    assert {*names, *groups_of(registry)} <= set(re.findall(r"`([\w-]+)`", table))
