"""The leaderboard's page in a real browser: sorting, filtering, opening a row, and nothing asked of the network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import cfbench
from cfbench.analysis.board import Board
from cfbench.analysis.groups import Selection
from cfbench.analysis.standings import RankState, Standings
from cfbench.board.board import Leaderboard, leaderboard_of
from cfbench.board.columns import columns_of, page_columns
from cfbench.board.page.render import render_page
from cfbench.board.text import share
from cfbench.record.store import Record
from cfbench.registry.registry import RegistryOptions, build_registry
from tests.browser.chromium import Page, open_page

pytestmark = pytest.mark.browser

TOY = Path(__file__).parents[1] / "toys" / "toy_plugin.py"
STUDY: dict[str, Any] = {
    "name": "toys",
    "datasets": ["toy"],
    "models": ["threshold", "threshold[shift=1]"],
    "searchers": ["toy-dice", "toy-both", "toy-crash"],
    "metrics": ["success"],
    "folds": [0],
    "points": 2,
    "repetitions": 1,
    "tracking": "none",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFBENCH_CACHE_DIR", str(folder / "cache"))
        cfbench.run(STUDY, plugins=[TOY], results=folder / "results")
    registry = build_registry(RegistryOptions(plugins=(str(TOY),)))
    with Record.open(folder / "results") as record:
        text = render_page(leaderboard_of(record, registry), record, {})
    (folder / "board.html").write_text(text, encoding="utf-8")
    return (folder / "board.html").as_uri()


@pytest.fixture(scope="module")
def page(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_page(chromium, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


SIZES = """
  [...document.querySelectorAll("body *")]
    .filter((one) => one.checkVisibility() && (!one.closest("svg") || one.matches("text")))
    .map((one) => [parseFloat(getComputedStyle(one).fontSize) * (one.matches("text") ? one.getScreenCTM().a : 1),
      one.outerHTML.slice(0, 100)])
    .sort((a, b) => a[0] - b[0]).slice(0, 3)
"""
"""Sizes of text that is seen, in pixels of the screen, the smallest first; a drawing scales its own."""
HEADS = "[...document.getElementById('board').tHead.rows[0].cells]"
ROWS = "[...document.querySelectorAll('#board tr.entry')]"
VALUES = f"""
  {ROWS}.map((row) => [
    row.querySelector("button").textContent,
    row.cells[0].textContent,
    {HEADS}
      .map((head, i) => [head, row.cells[i], row.cells[i].querySelector(".text")])
      .filter(([head]) => head.dataset.column && !head.hidden)
      .map(([head, cell, text]) => [head.dataset.column, text.textContent, cell.dataset.value]),
  ])
"""
RECORD = Path(__file__).parents[2] / "leaderboard" / "record"
FACETS = ("dataset", "model", "objective", "constraints")


@dataclass(frozen=True)
class Published:
    """The published record's page: its address, its numbers, and the searchers on it."""

    record: Record
    address: str
    shown: Leaderboard
    searchers: set[str]

    def board(self, chosen: dict[str, str]) -> Board:
        """Make the board of the tasks that filters choose, as the command does."""
        datasets, models, objectives = ([chosen[name]] if name in chosen else [] for name in FACETS[:3])
        constraints = {"": None, "on": True, "off": False}[chosen.get("constraints", "")]
        selection = Selection(datasets, models, objectives, constraints, searchers=self.searchers)
        return leaderboard_of(self.record, self.shown.registry, selection=selection).board


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Make the page of the searchers that have a rank, or are white boxes: the same ones in any of its parts."""
    registry = build_registry()
    with Record.open(RECORD) as record:
        rows = leaderboard_of(record, registry).board.standings.rows
        compared = {row.searcher.name for row in rows if row.state in (RankState.RANKED, RankState.WHITE_BOX)}
        selection = Selection(searchers=compared)
        shown = leaderboard_of(record, registry, selection=selection, columns=page_columns(registry))
        text = render_page(shown, record, {}, "published.csv")
        assert len(text) < 1_000_000
        file = tmp_path_factory.mktemp("published") / "published.html"
        file.write_text(text, encoding="utf-8")
        yield Published(record, file.as_uri(), shown, compared)


def names(page: Page) -> list[str]:
    found: list[str] = page.value("[...document.querySelectorAll('#board .name button')].map(one => one.textContent)")
    return found


def cells(page: Page, column: str) -> list[str]:
    place = f"[...document.querySelectorAll('#board thead th')].findIndex(one => one.dataset.column === '{column}')"
    rows = "[...document.querySelectorAll('#board tr.entry')]"
    found: list[str] = page.value(f"(p => {rows}.map(row => row.cells[p].textContent.trim()))({place})")
    return found


def click(page: Page, selector: str) -> None:
    page.value(f"document.querySelector('{selector}').click()")


def choose(page: Page, name: str, value: str) -> None:
    page.value(
        f"(one => {{ one.value = '{value}'; one.dispatchEvent(new Event('change')) }})"
        f"(document.querySelector('select[name={name}]'))"
    )


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (400, False), (400, True)])
def test_it_loads_without_complaints_from_one_file_and_fits(page: Page, address: str, width: int, dark: bool) -> None:
    page.open(address, width, dark=dark)
    assert page.errors == []
    assert page.requests == [address]
    assert page.value("document.documentElement.scrollWidth") <= width
    colours = page.value("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert _contrast(*colours) >= 7


@pytest.mark.parametrize("width", [1400, 1200, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_scrolls_sideways_and_text_is_large_enough(
    page: Page, published: Published, width: int, dark: bool
) -> None:
    page.open(published.address, width, dark=dark)
    assert page.errors == []
    assert page.value("document.scrollingElement.scrollWidth <= innerWidth")
    page.value("document.querySelectorAll('details').forEach(one => (one.open = false))")
    if width >= 1200:
        cut = "one.checkVisibility() && one.scrollWidth > one.clientWidth"
        assert page.value(f"[...document.querySelectorAll('.wide')].filter(one => {cut}).length") == 0
        assert page.value("(h => getComputedStyle(h).position)(document.querySelector('.heat thead th'))") == "sticky"
    smallest = page.value(SIZES)
    assert smallest[0][0] >= 11.99, smallest


def test_the_trade_off_is_next_to_the_table_and_the_other_figures_are_two_by_two(
    page: Page, published: Published
) -> None:
    page.open(published.address, 1400)
    box = "(one => (({left, right, top, bottom}) => [left, right, top, bottom])(one.getBoundingClientRect()))"
    table = page.value(f"{box}(document.querySelector('#board'))")
    figure = page.value(f"{box}(document.querySelector('.next figure'))")
    assert figure[0] > table[1]
    assert figure[3] < table[3]
    places = page.value(f"[...document.querySelectorAll('.figures figure')].map({box})")
    assert len(places) == 4
    assert len({round(place[0]) for place in places}) == 2
    assert len({round(place[2]) for place in places}) == 2
    colours = page.value(
        "[...document.querySelectorAll('svg.chart')].map(chart => [...chart.querySelectorAll('text.of')]"
        ".map(one => getComputedStyle(one).color))"
    )
    assert all(len(set(own)) == len(own) for own in colours)


def test_a_phones_first_screen_shows_who_leads_and_by_what(page: Page, published: Published) -> None:
    page.open(published.address, 400, 800)
    shown = page.value(f"{HEADS}.filter(head => head.checkVisibility()).map(head => head.dataset.column || '')")
    assert shown == ["", "", "found", "rank", "objective"]
    ends = page.value(f"{ROWS}.map(row => row.getBoundingClientRect()).map(box => [box.bottom, box.right])")
    assert ends[2][0] <= 800
    assert max(right for _, right in ends) <= 400


def values_of(page: Page) -> dict[str, dict[str, Any]]:
    """Return what the main table shows: by searcher, each column's text and the number behind it."""
    found = {}
    for label, position, columns in page.value(VALUES):
        own: dict[str, Any] = {name: (text, value and float(value)) for name, text, value in columns}
        found[label] = {"position": position, **own}
    return found


def filters_of(page: Page) -> dict[str, list[str]]:
    selects = "[...document.querySelectorAll('#tools select')]"
    return dict(page.value(f"{selects}.map(one => [one.name, [...one.options].slice(1).map(own => own.value)])"))


def test_the_browser_computes_what_python_computes_for_every_filter_value(page: Page, published: Published) -> None:
    page.open(published.address)
    filters = filters_of(page)
    assert set(filters) <= set(FACETS)
    assert filters
    single = [{name: value} for name, values in filters.items() for value in values]
    ends = [{name: values[at] for name, values in filters.items()} for at in (0, -1)]
    compared = compared_of(published.board({}).standings)
    alike = []
    for chosen in [*single, *ends]:
        for name in filters:
            choose(page, name, chosen.get(name, ""))
        standings = published.board(chosen).standings
        ranked = [row for row in standings.rows if row.state is RankState.RANKED]
        assert len(ranked) > 2
        shown = values_of(page)
        assert list(shown)[: len(ranked)] == [row.label for row in ranked]
        columns = {column.name: column for column in columns_of(standings, ("rank", "objective", "loss", "wins"))}
        alike.append(compared_of(standings) == compared)
        for row in ranked:
            own = shown[row.label]
            assert own["position"] == str(row.position).strip(), (chosen, row.label)
            assert own["found"][0] == f"{row.found.k:,} of {row.found.n:,} ({share(row.found.share)})"
            for name, column in columns.items():
                text, number = own[name]
                if name in ("objective", "loss") and not alike[-1]:
                    assert (text, number) == ("-", None), (chosen, row.label, name)
                    continue
                assert number == pytest.approx(column.value(row), abs=1e-12), (chosen, row.label, name)
                assert text == column.text(row).removesuffix(f" {row.group}"), (chosen, row.label, name)
        for row in standings.rows:
            if row.state is RankState.WHITE_BOX and alike[-1]:
                assert shown[row.label]["loss"][1] == pytest.approx(row.loss.value, abs=1e-12)
                assert shown[row.label]["rank"][0] == "-"
        rows = page.value("[...document.querySelectorAll('.heat [data-task]')].filter(row => !row.hidden).length")
        assert rows == len(standings.tasks)
        assert page.value("document.getElementById('chosen').textContent").startswith(f"{rows} of ")
    assert {True, False} == set(alike)


def compared_of(standings: Standings) -> set[str]:
    """Return the ranked searchers that found enough to be compared in losses."""
    return {row.label for row in standings.rows if row.state is RankState.RANKED and row.loss.value is not None}


def test_numbers_of_all_tasks_are_back_when_filters_are_off(page: Page, published: Published) -> None:
    page.open(published.address)
    before = values_of(page)
    name, values = next(iter(filters_of(page).items()))
    choose(page, name, values[0])
    assert values_of(page) != before
    assert page.value("document.querySelector('.letters').hidden")
    choose(page, name, "")
    assert values_of(page) == before


def test_a_hidden_column_orders_nothing(page: Page, published: Published) -> None:
    page.open(published.address)
    by_rank = names(page)
    click(page, "th[data-column=seconds] button")
    assert names(page) != by_rank
    assert "Sorted by s/search" in page.value("document.querySelector('#board .order').textContent")
    name, values = next(iter(filters_of(page).items()))
    choose(page, name, values[0])  # seconds are hidden now
    ranks = [value["rank"][1] for value in values_of(page).values() if value["rank"][1] is not None]
    assert ranks == sorted(ranks)
    assert "by mean rank" in page.value("document.querySelector('#board .order').textContent")
    assert page.value("document.querySelectorAll('[aria-sort]').length") == 0


def test_all_columns_are_shown_where_a_reader_wants_them(page: Page, published: Published) -> None:
    page.open(published.address)
    column = "document.querySelector('th[data-column=\"tasks\"]').checkVisibility()"
    assert not page.value(column)
    page.value("document.getElementById('all-columns').click()")
    assert page.value(column)
    assert page.value("location.hash") == "#columns=all"
    assert page.value("document.scrollingElement.scrollWidth <= innerWidth")


def test_sorting_moves_rows_and_never_renumbers_positions(page: Page, address: str) -> None:
    page.open(address)
    before = {label: row["position"] for label, row in values_of(page).items()}
    assert names(page)[-1] == "toy-crash"
    click(page, "th[data-column=found] button")  # higher is better: the best first
    click(page, "th[data-column=found] button")
    assert names(page)[0] == "toy-crash"
    assert page.value("document.querySelector('th[data-column=found]').getAttribute('aria-sort')") == "ascending"
    after = {label: row["position"] for label, row in values_of(page).items()}
    assert after == before
    page.open(f"{address}#sort=found&order=up")  # the state is in the address
    assert names(page)[0] == "toy-crash"


def test_filtering_recomputes_what_it_shows_and_hides_the_rest(page: Page, address: str) -> None:
    page.open(address)
    assert cells(page, "found")[0].startswith("4 of 4")
    assert page.value("document.getElementById('filtered').hidden")
    choose(page, "model", "threshold")
    assert cells(page, "found") == ["2 of 2 (100.0%)", "2 of 2 (100.0%)", "0 of 2 (0.0%)"]
    assert all("(" not in text for text in cells(page, "rank"))
    assert not page.value("document.getElementById('filtered').hidden")
    assert page.value("document.querySelector('th[data-column=seconds]').hidden")
    assert page.value("location.hash") == "#model=threshold"
    assert all("(" not in text for text in cells(page, "rank"))  # no interval of other tasks stays
    choose(page, "model", "")
    assert cells(page, "found")[0].startswith("4 of 4")
    assert not page.value("document.querySelector('th[data-column=seconds]').hidden")


def test_a_row_opens_and_closes(page: Page, address: str) -> None:
    page.open(address)
    hidden = "document.querySelector('#board tr.more').hidden"
    assert page.value(hidden)
    click(page, "#board .name button")
    assert not page.value(hidden)
    assert "rows = 200" in page.value("[...document.querySelectorAll('#board tr.more')].map(e => e.textContent).join()")
    click(page, "#board .name button")
    assert page.value(hidden)
    click(page, "#board tr.entry td.place")  # the whole row opens
    assert not page.value(hidden)


def test_what_is_shown_is_copied(page: Page, address: str) -> None:
    page.open(address)
    page.value("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    click(page, "#copy-markdown")
    lines = page.value("window.copied").splitlines()
    assert lines[0].startswith("| position | searcher | found")
    assert len(lines) == 2 + 3
    click(page, "#copy-latex")
    text = page.value("window.copied")
    assert text.startswith("\\begin{tabular}{rl")
    assert "(100.0\\%)" in text


def test_without_scripts_every_row_is_open(page: Page, address: str) -> None:
    page.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(address)
        assert page.value("document.querySelector('#board tr.more').hidden") is False
        assert page.value("document.getElementById('tools').hidden") is True
    finally:
        page.command("Emulation.setScriptExecutionDisabled", value=False)


def _contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)
