"""The page: complete without scripts, self-contained, and nothing that comes from a record is taken for markup."""

from __future__ import annotations

import html
import json
import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
import pytest
from click.testing import CliRunner

import cfbench
from cfbench.analysis.board import Board, make_board
from cfbench.analysis.loss_alone import MARK, JudgedCell
from cfbench.analysis.ranks import Position
from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.analysis.standings import StandingsRow
from cfbench.board.board import Leaderboard, leaderboard_of
from cfbench.board.columns import page_columns
from cfbench.board.page import svg
from cfbench.board.page.evidence import TARGETS, gather
from cfbench.board.page.figures import front
from cfbench.board.page.render import _incomplete, headline, render_page
from cfbench.board.page.tables import cards, heat_table
from cfbench.cli import cli
from cfbench.record.cells import CellSummary
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.study.plan import command_again
from cfbench.text import plural
from tests.toys.cells import cell

if TYPE_CHECKING:
    from cfbench.record.reading import RecordReading

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
        columns = [name for name in page_columns(registry) if name != "optimality-gap"]
        shown = leaderboard_of(record, registry, columns=columns, shown_as="results")
        spaces = {"toy": _space()} if named else {}
        return render_page(shown, record, spaces, "board.csv")


def _space() -> cfbench.FeatureSpace:
    registry = build_registry(RegistryOptions(plugins=(str(TOY),)))
    return registry.dataset("toy").entry.load(cfbench.DataSource((), Path(), download=False)).space


def test_the_page_is_whole_and_asks_nothing_of_anybody(results: Path) -> None:
    page = page_of(results)
    elements = Elements(page)
    assert set(elements.addresses) == {"board.csv"}
    assert not re.search(r"https?://|@import|url\(", page)
    assert elements.counts["caption"] >= 2
    assert len(page) < 150_000


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
    assert all(re.search(r"size [\d.]+ → (11|20)<", example) for example in both)
    assert all("colour" not in example for example in both)
    unnamed = re.findall(r'<p class="example">.*?</p>', page_of(results, named=False), flags=re.DOTALL)
    assert all("feature 1" in example for example in unnamed)


def test_what_filters_compute_with_is_json_that_ends_no_element(results: Path) -> None:
    page = page_of(results)
    text = re.search(r'data-table="board">(.*?)</script>', page, flags=re.DOTALL)
    assert text is not None
    data = json.loads(text[1])
    assert [task["model"] for task in data["tasks"]] == ["threshold", "threshold[shift=1]"]
    assert len(data["rows"]) == 3
    rank, found, searched, _, _, solved = data["rows"][0]["results"][0]
    assert (found, searched) == (4, 4)
    assert 0 < solved <= data["tasks"][0]["points"]
    assert data["least"] == 0.5
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


class Made:
    """A record with the searches that it is given, by the key of their cell."""

    def __init__(self, path: Path, searches: dict[str, list[dict[str, Any]]]) -> None:
        self.path = path
        self._searches = searches

    def rows(self, key: str) -> list[dict[str, Any]]:
        return self._searches.get(key, [])

    def machines(self) -> list[dict[str, Any]]:
        return []

    def measures(self, key: str) -> pd.DataFrame:
        return pd.DataFrame(columns=["metric", "version", "settings", "point", "repetition", "value"])


def made_page(board: Board, path: Path) -> str:
    return render_page(Leaderboard(board, "made"), cast("RecordReading", Made(path, {})), {})


def summary(searcher: str, objective: str, loss: list[float | None], value: list[float | None]) -> CellSummary:
    made = cell(loss, searcher=searcher, objective=objective, model="forest", objective_value=tuple(value))
    return replace(made, info=replace(made.info, key=searcher + objective))


def search(point: int, loss: float | None, value: float | None, anytime: list[tuple[int, float]]) -> dict[str, Any]:
    return {
        "row_id": point,
        "point": point,
        "repetition": 0,
        "status": "found" if loss is not None else "not_found",
        "reason": "",
        "loss": loss,
        "objective_value": value,
        "search_queries": 90,
        "robustness_queries": 10,
        "anytime": anytime,
        "x": [1.0],
        "z": None if loss is None else [2.0],
    }


def test_under_a_robust_objective_a_search_counts_with_its_judged_end_alone(tmp_path: Path) -> None:
    cells = [
        summary("fast", "ck", [0.1, 0.1], [0.3, 0.2]),  # its losses are the best, its objective values are not
        summary("sound", "ck", [0.2, None], [0.2, None]),
        summary("fast", "none", [0.1, 0.1], [0.1, 0.1]),
        summary("sound", "none", [0.2, 0.1], [0.2, 0.1]),
    ]
    record = Made(
        tmp_path,
        {
            "fastck": [search(0, 0.1, 0.3, [(5, 0.1)]), search(1, 0.1, 0.2, [(5, 0.1)])],
            "soundck": [search(0, 0.2, 0.2, [(7, 0.2)]), search(1, None, None, [])],
            "fastnone": [search(0, 0.1, 0.1, [(5, 0.1)]), search(1, 0.1, 0.1, [(5, 0.1)])],
            "soundnone": [search(0, 0.2, 0.2, [(7, 0.2)]), search(1, 0.1, 0.1, [(3, 0.4), (8, 0.1)])],
        },
    )
    board = make_board(cells, build_registry(), need_reference=False)
    evidence = gather(board.matrix, cast("RecordReading", record))
    queries = {one.name: progress.queries.tolist() for one, progress in evidence.progress.items()}
    # ck: .3 is 50 % above the best (.2): within 50 %, 100 % and any. none: .1 is the best of both points.
    assert queries["fast"] == [5] * 16 + [100] * (3 + 8)
    # ck: the best of one point. none: .2 is within 100 % of .1; .4 is any counterfactual, .1 the best.
    assert queries["sound"] == [3] + [7] * 2 + [8] * 7 + [100] * 8
    assert {one.pairs for one in evidence.progress.values()} == {4 * len(TARGETS)}
    robust, plain = evidence.examples
    assert robust is not None
    assert plain is not None
    assert {one.name: value for one, (_, value) in robust.found.items()} == {"fast": 0.3, "sound": 0.2}
    assert {one.name: value for one, (_, value) in plain.found.items()} == {"fast": 0.1, "sound": 0.2}


def test_cards_and_heat_table_compare_values_on_the_points_that_all_solved(tmp_path: Path) -> None:
    """A searcher with few, easy successes does not look best."""
    cells = [
        summary("lucky", "none", [0.1, *[None] * 9], [0.1, *[None] * 9]),
        summary("steady", "none", [0.1, *[0.4] * 9], [0.1, *[0.4] * 9]),
        summary("second", "none", [0.11, *[0.5] * 9], [0.11, *[0.5] * 9]),
    ]
    board = make_board(cells, build_registry(), need_reference=False)
    (card,) = cards(board, [None], {})
    assert card["header"][:4] == ("searcher", "rank", "found", "loss vs best")
    assert [row[:4] for row in card["rows"]] == [
        ("steady", "1.1", "10 of 10 (100.0%)", "+0%"),
        ("second", "2.1", "10 of 10 (100.0%)", "+25%"),
        ("lucky", "2.9", "1 of 10 (10.0%)", "-"),
    ]
    table = heat_table(board)
    assert table["searchers"] == ["steady", "second", "lucky"]
    ((dataset, (row,)),) = table["groups"]
    assert (dataset, row["name"]) == ("credit", "forest, none, constraints off")
    assert [(cell["text"], cell["best"]) for cell in row["cells"]] == [("+0%", True), ("+25%", False), ("1/10", False)]


def test_a_task_is_won_also_where_values_cannot_be_compared() -> None:
    """No point was solved by all: there is no value to compare, and a winner by rank."""
    cells = [
        summary("p", "none", [0.1, 0.1, 0.1, 0.1, None], [0.1, 0.1, 0.1, 0.1, None]),
        summary("q", "none", [None, None, 0.2, 0.2, 0.2], [None, None, 0.2, 0.2, 0.2]),
        summary("r", "none", [0.3, 0.3, None, None, 0.3], [0.3, 0.3, None, None, 0.3]),
    ]
    table = heat_table(make_board(cells, build_registry(), need_reference=False))
    assert table["searchers"] == ["p", "q", "r"]
    assert [(cell["text"], cell["best"]) for cell in table["groups"][0][1][0]["cells"]] == [
        ("4/5", True),
        ("3/5", False),
        ("3/5", False),
    ]


def texts(page: str, pattern: str) -> list[str]:
    return [html.unescape(re.sub(r"<[^>]*>", "", one)).strip() for one in re.findall(pattern, page, flags=re.DOTALL)]


def main_rows(page: str) -> dict[str, dict[str, str]]:
    """Return the cells of the main table by searcher and column."""
    table = page[page.index('id="board">') : page.index('class="tasks-data"')]
    columns = re.findall(r'<th scope="col" data-column="(.*?)"', table)
    rows = {}
    for row in re.findall(r'<tr class="entry">.*?</tr>', table, flags=re.DOTALL):
        (label,) = texts(row, r'<span class="label">(.*?)</span>')
        rows[label] = dict(zip(columns, texts(row, r"<td class=\"(?!place).*?</td>"), strict=True))
    return rows


@pytest.mark.parametrize("losses", [(0.1, 0.2, 0.3), (0.1, 0.10001, 0.3), (0.1, 0.1, 0.1)])
def test_the_first_sentence_follows_from_the_table(tmp_path: Path, losses: tuple[float, ...]) -> None:
    cells = [
        replace(
            summary(name, "none", [loss] * 4, [loss] * 4),
            info=CellInfo(f"{name}{data}", f"data-{data}", "forest", name, "none", constraints=False, fold=0),
        )
        for name, loss in zip("pqr", losses, strict=True)
        for data in range(8)
    ]
    board = make_board(cells, build_registry(), need_reference=False)
    page = made_page(board, tmp_path)
    (sentence,) = texts(page, "<h1>.*?</h1>")
    rows = main_rows(page)
    leaders = re.split(", | and ", sentence.partition(" lead")[0])
    best = min(float(row["rank"].split()[0]) for row in rows.values())
    assert leaders == [name for name, row in rows.items() if float(row["rank"].split()[0]) == best]
    assert f"with mean rank {best:.1f} on 8 tasks" in sentence
    for name in leaders:
        assert rows[name]["wins"] == "8"
        assert "8" in sentence.partition("(")[2].partition(")")[0]
    if len(leaders) < 3:
        follower = next(name for name in rows if name not in leaders)
        assert f"{follower} follows with {rows[follower]['rank'].split()[0]}, a significant difference." in sentence


def test_few_tasks_and_equal_groups_are_told_in_the_first_sentence(board: Board) -> None:
    row = board.standings.ranked[0]

    def sentence(*rows: StandingsRow) -> str:
        return headline(replace(board.standings, rows=rows))

    first, second = (
        replace(
            row,
            searcher=ComparedSearcher(name),
            position=Position(number, shared=False),
            rank=rank,
            group="a",
            wins=wins,
        )
        for name, number, rank, wins in (("p", 1, 1.25, 3), ("q", 2, 1.5, 1))
    )
    tasks = plural(len(board.standings.in_play), "task")
    result = f"p leads with mean rank 1.2 on {tasks} (3 won)"
    assert sentence(first, second) == f"{result}, but q (1.5) is not significantly worse."
    verb = "is" if tasks == "1 task" else "are"
    few = sentence(replace(first, group=""), replace(second, group=""))
    assert few == f"{result}; q follows with 1.5, and {tasks} {verb} too few for a test."
    tied = [replace(one, position=Position(1, shared=True), rank=1.5) for one in (first, second)]
    assert sentence(*tied) == f"p and q lead with mean rank 1.5 on {tasks} (won: 3 and 1)."
    assert "p alone ran on every point" in sentence(first)


def test_a_searcher_links_to_its_paper_and_ours_says_so(tmp_path: Path) -> None:
    cells = [summary(name, "none", [loss], [loss]) for name, loss in (("cogs", 0.2), ("sparse-sweep", 0.1))]
    board = make_board(cells, build_registry())
    page = made_page(board, tmp_path)
    cogs = build_registry().searcher("cogs").entry
    assert cogs.url.startswith("https://")
    assert f'<a class="paper" href="{cogs.url}" rel="noopener noreferrer"' in page
    ours, other = page.index(">sparse-sweep</span>"), page.index(">cogs</span>")
    assert page.index('<span class="method" title="cfbench&#39;s own: ') in range(ours, other)


def test_white_boxes_have_a_table_of_their_own_where_there_are_two(tmp_path: Path) -> None:
    def page(*white: str) -> str:
        cells = [
            summary(name, "none", [loss] * 2, [loss] * 2)
            for name, loss in zip("abpq", (0.4, 0.3, 0.1, 0.2), strict=True)
        ]
        cells = [replace(cell, info=replace(cell.info, white_box=cell.info.searcher in white)) for cell in cells]
        board = make_board(cells, build_registry(), need_reference=False)
        return made_page(board, tmp_path)

    two, one = page("p", "q"), page("p")
    assert list(main_rows(two)) == ["b", "a"]
    own = two[two.index('id="white-boxes"') :]
    assert own.index(">p [white-box]</span>") < own.index(">q [white-box]</span>")
    data = re.search(r'data-table="white-boxes">(.*?)</script>', two)
    assert data is not None
    assert [row["results"][0][0] for row in json.loads(data[1])["rows"]] == [1.0, 2.0]
    heads = texts(two[two.index('class="heat"') :], r'<th scope="col">.*?</th>')[:4]
    assert heads == ["b", "a", "p [white-box]", "q [white-box]"]
    assert 'id="white-boxes"' not in one
    assert set(main_rows(one)) == {"a", "b", "q", "p [white-box]"}
    assert main_rows(one)["p [white-box]"]["rank"] == "-"


def test_results_searched_for_the_loss_alone_are_marked(tmp_path: Path) -> None:
    given = summary("plain", "ck", [0.1] * 2, [0.4] * 2)
    judged = JudgedCell(**{one.name: getattr(given, one.name) for one in fields(CellSummary)}, judged_from="plainnone")
    cells = [judged, summary("able", "ck", [0.2] * 2, [0.3] * 2)]
    board = make_board(cells, build_registry(), need_reference=False)
    page = made_page(board, tmp_path)
    assert f'<span class="state">{MARK} on 1 task</span>' in page
    (group,) = heat_table(board)["groups"]
    assert [(cell["text"], cell["alone"]) for cell in group[1][0]["cells"]] == [("+0%", False), ("+33%", True)]
    assert '+33%<span class="alone">°</span>' in page
    assert [row[0] for row in cards(board, [None], {})[0]["rows"]] == ["able", f"plain ({MARK})"]
    assert "<code>plainnone</code>" in page  # the key under which the record holds its searches


def test_what_is_missing_is_counted(board: Board) -> None:
    whole = replace(board.standings, failed=0, rows=tuple(replace(row, missing=0) for row in board.standings.rows))
    assert _incomplete(whole) == ""
    first, *others = whole.rows
    lacking = replace(whole, failed=1, rows=(replace(first, missing=2), *others))
    assert _incomplete(lacking) == "Incomplete: 1 cell failed and 2 cells that others have were not run."


def test_the_front_joins_those_that_no_other_beats() -> None:
    assert front([1.0, 2.0, 3.0, 3.0], [5.0, 6.0, 4.0, 3.0], higher=False) == [0, 3]
    assert front([1.0, 2.0, 3.0], [5.0, 6.0, 4.0], higher=True) == [0, 1]


def test_axes_place_values_and_keep_those_beyond_at_their_ends() -> None:
    assert svg.Axis(1, 1000, 0, 300, log=True)(10) == pytest.approx(100)
    assert svg.Axis(0.001, 1, 0, 300, log=True)(0) == 0
    assert svg.Axis(0, 1, 0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert svg.Axis(1, 1e6, 0, 1, log=True).ticks() == [1, 100, 1e4, 1e6]
    assert svg.Axis(1.5, 60, 0, 1, log=True).ticks() == pytest.approx([2, 5, 10, 20, 50])


@pytest.mark.parametrize("number", [1, 2, 3, 8, 12, 17, 40])
def test_colours_never_repeat_within_a_chart(number: int) -> None:
    assert len({svg.hue(series, number) for series in range(number)}) == number


def test_labels_that_would_meet_are_moved_apart_in_their_order() -> None:
    placed = svg.apart([100, 101, 40, 102], 320)
    assert placed == [100, 100 + svg.GAP, 40, 100 + 2 * svg.GAP]
    bottom = 320 - svg.BOTTOM + 6
    assert svg.apart([bottom, bottom], 320) == [bottom - svg.GAP, bottom]
    many = svg.apart([50.0] * 30, svg.height_for(30))
    assert min(lower - upper for upper, lower in pairwise(many)) >= svg.GAP


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
    assert re.search(r"size \d+\.\d+ →", page)  # the data set's own names
    assert (tmp_path / "board.csv").read_text(encoding="utf-8").startswith("table,position,")
    assert CliRunner().invoke(cli, arguments).stdout.startswith("<!DOCTYPE html>")
