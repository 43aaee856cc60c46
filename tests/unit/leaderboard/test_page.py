"""The page: complete without scripts, self-contained, and nothing that comes from a record is taken for markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import cfbench
from cfbench.cli import cli
from cfbench.errors import CfbenchError
from cfbench.harness.again import command_again
from cfbench.harness.store.record import Record
from cfbench.leaderboard.opened import leaderboard_of
from cfbench.leaderboard.page import figures, svg
from cfbench.leaderboard.page.columns import PAGE_COLUMNS
from cfbench.leaderboard.page.evidence import TARGETS, gather
from cfbench.leaderboard.page.render import render_page
from cfbench.registry import RegistryOptions, build_registry

TOY = Path(__file__).parents[2] / "toys" / "toy_plugin.py"
STUDY: dict[str, Any] = {
    "name": "toys",
    "datasets": ["toy"],
    "models": ["threshold", "threshold[shift=1]"],
    "searchers": ["toy-dice", "toy-both", "toy-crash"],
    "objectives": ["none"],
    "metrics": ["success", "k-robustness"],
    "folds": [0, 1],
    "points": 2,
    "repetitions": 1,
    "tracking": "none",
}


class Elements(HTMLParser):
    """Counts elements, notes what they refer to, and checks that they are closed."""

    VOID = ("meta", "br", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.addresses: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFBENCH_CACHE_DIR", str(folder / "cache"))
        cfbench.run(STUDY, plugins=[TOY], results=folder / "results")
    return folder / "results"


def page_of(results: Path, *, named: bool = True) -> str:
    registry = build_registry(RegistryOptions(plugins=(str(TOY),)))
    with Record.open(results) as record:
        columns = [name for name in PAGE_COLUMNS if name != "optimality-gap"]
        shown = leaderboard_of(record, registry, columns=columns, shown_as="results")
        spaces = {"toy": _space()} if named else {}
        return render_page(shown, record, spaces, "board.csv")


def _space() -> cfbench.FeatureSpace:
    registry = build_registry(RegistryOptions(plugins=(str(TOY),)))
    return registry.dataset("toy").entry.load(cfbench.DataSource((), Path(), download=False)).space


def test_the_page_is_whole_and_asks_nothing_of_anybody(results: Path) -> None:
    page = page_of(results)
    elements = Elements(page)
    assert elements.addresses == ["board.csv"]
    assert not re.search(r"https?://|@import|url\(", page)
    assert elements.counts["caption"] >= 2
    assert len(page) < 150_000


def test_every_number_of_the_table_is_the_boards(results: Path) -> None:
    page = page_of(results)
    (dice,) = re.findall(r'<tr class="entry">.*?toy-dice.*?</tr>', page, flags=re.DOTALL)[:1]
    assert "8 of 8 (100.0%)" in dice
    assert 'data-value="1.0"' in dice
    crash = page[page.index("cannot think today") - 400 :]
    assert "<td>8</td>" in crash.split("</tr>")[0] or ">8<" in page
    assert "toy-crash" in page
    assert "not found ranks last, never dropped" in page


def test_a_row_opens_to_settings_keys_and_the_command_that_runs_it_again(results: Path) -> None:
    page = page_of(results)
    assert "rows = 200" in page
    with Record.open(results) as record:
        for key in record.summaries():
            assert f"<code>{key}</code>" in page
    assert (
        "cfbench run --dataset toy --model threshold --model &#39;threshold[shift=1]&#39; --searcher toy-dice "
        "--objective none --constraints off --fold 0 --fold 1 --points 2 --repetitions 1 --seed 42 --results again"
    ) in page


def test_examples_name_the_changed_features_alone(results: Path) -> None:
    page = page_of(results)
    examples = re.findall(r'<p class="example">.*?</p>', page, flags=re.DOTALL)
    assert len(examples) == 4  # two searchers that find something, two tasks
    assert all("size" in example for example in examples)
    both = [example for example in examples if "toy-both" in example]
    assert all("size 7.84809 → 11" in example for example in both)
    assert all("colour" not in example for example in both)
    unnamed = re.findall(r'<p class="example">.*?</p>', page_of(results, named=False), flags=re.DOTALL)
    assert all("feature 1" in example for example in unnamed)


def test_what_filters_compute_with_is_json_that_ends_no_element(results: Path) -> None:
    page = page_of(results)
    text = re.search(r'id="tasks-data">(.*?)</script>', page, flags=re.DOTALL)
    assert text is not None
    data = json.loads(text[1])
    assert [task["model"] for task in data["tasks"]] == ["threshold", "threshold[shift=1]"]
    assert len(data["rows"]) == 3
    rank, found, asked, _ = data["rows"][0]["results"][0]
    assert (found, asked) == (4, 4)
    assert 1 <= rank <= 3


def test_markup_in_a_record_is_text(results: Path, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    with Record.open(results) as source, Record.open(tmp_path / "results", write=True) as record:
        for number, (key, summary) in enumerate(source.summaries().items()):
            own = f"{number:032x}"
            info = replace(summary.info, key=own, searcher=f"{hostile}{summary.info.searcher}", dataset=hostile)
            rows = [row | {"cell_key": own, "reason": hostile} for row in source.rows(key)]
            record.adopt(info, summary.content, summary.eligible, rows)
        record.fail(info, summary.content, hostile)
    page = page_of(tmp_path / "results")
    assert hostile not in page
    assert "&lt;script&gt;alert(1)" in page
    assert Elements(page).counts["script"] == 2


def test_targets_are_reached_when_the_anytime_losses_say_so(results: Path) -> None:
    registry = build_registry(RegistryOptions(plugins=(str(TOY),)))
    with Record.open(results) as record:
        board = leaderboard_of(record, registry).board
        evidence = gather(board.contest, record)
        dice = next(one for one in board.contest.entrants if one.searcher == "toy-dice")
        expected = []
        for arena in board.contest.arenas:
            for cell in arena.groups[dice].cells:
                for row in record.rows(cell.info.key):
                    losses = [own[arena.places.index((cell.info.fold, row["row_id"]))] for own in arena.losses.values()]
                    best = min(loss for loss in losses if not np.isnan(loss))
                    for target in TARGETS:
                        hits = [asked for asked, loss in row["anytime"] if loss <= best * (1 + target)]
                        expected += hits[:1]
    assert sorted(expected) == evidence.progress[dice].rows.tolist()
    assert evidence.progress[dice].pairs == 8 * len(TARGETS)


def test_the_front_joins_those_that_nobody_beats() -> None:
    image = figures._scatter([], [], [], svg.Axis(0, 1, 0, 100), svg.Axis(0, 1, 100, 0), ("a", "b"), higher=True)
    assert "<title>b against a</title>" in image
    assert svg.Axis(1, 1000, 0, 300, log=True)(10) == pytest.approx(100)
    assert svg.Axis(0, 1, 0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert svg.Axis(1, 1e6, 0, 1, log=True).ticks() == [1, 10, 100, 1000, 1e4, 1e5, 1e6]


def test_labels_that_would_meet_are_moved_apart_in_their_order() -> None:
    placed = svg._apart([100, 101, 20, 102])
    assert placed == [100, 113, 20, 126]
    bottom = svg.HEIGHT - svg.BOTTOM
    assert svg._apart([bottom, bottom]) == [bottom - 13, bottom]


def test_a_command_names_every_axis_once_and_quotes_what_a_shell_would_read(results: Path) -> None:
    with Record.open(results) as record:
        summaries = list(record.summaries().values())
    both = [replace(summaries[0].info, constraints=on, fold=fold) for on in (True, False) for fold in (3, 1)]
    command = command_again(both, {"time_limit": 2.5, "respect_steps": True}, points=4, repetitions=2, results="a b")
    assert command.endswith(
        "--constraints both --fold 1 --fold 3 --points 4 --repetitions 2 --time-limit 2.5 --respect-steps "
        "--results 'a b'"
    )
    assert command.count("--searcher") == 1


def test_the_command_writes_the_page_with_its_numbers_beside_it(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "board.html"
    arguments = ["leaderboard", "--results", str(results), "--format", "html", "--plugin", str(TOY)]
    result = CliRunner().invoke(cli, [*arguments, "--output", str(file)])
    assert result.exit_code == 0, result.output
    page = file.read_text(encoding="utf-8")
    assert '<a href="board.csv">board.csv</a>' in page
    assert "size 7.84809" in page  # the data set's own names
    assert (tmp_path / "board.csv").read_text(encoding="utf-8").startswith("table,position,")
    assert CliRunner().invoke(cli, arguments).stdout.startswith("<!DOCTYPE html>")


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(results: Path, tmp_path: Path) -> None:
    arguments = ["leaderboard", "--results", str(tmp_path / "none"), "--format", "html"]
    result = CliRunner().invoke(cli, [*arguments, "--output", str(tmp_path / "gone" / "board.html")])
    assert isinstance(result.exception, CfbenchError)
    assert "is no folder" in str(result.exception)
