"""The leaderboard's page in a real browser: sorting, filtering, opening a row, and nothing asked of the network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cfbench
from cfbench.harness.store.record import Record
from cfbench.leaderboard.opened import leaderboard_of
from cfbench.leaderboard.page.render import render_page
from cfbench.registry import RegistryOptions, build_registry
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
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    chromium = shutil.which("chromium")
    if chromium is None:
        reason = "chromium is not installed (apt-get install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with open_page(chromium, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


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
    assert (
        page.value(
            "Math.min(...[...document.querySelectorAll('body *')].map(e => parseFloat(getComputedStyle(e).fontSize)))"
        )
        >= 12
    )
    colours = page.value("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert _contrast(*colours) >= 7


def test_sorting_moves_rows_and_never_renumbers_positions(page: Page, address: str) -> None:
    page.open(address)
    before = dict(
        zip(
            names(page),
            page.value("[...document.querySelectorAll('#board td.place')].map(e => e.textContent)"),
            strict=True,
        )
    )
    assert names(page)[-1] == "toy-crash"
    click(page, "th[data-column=found] button")  # higher is better: the best first
    click(page, "th[data-column=found] button")
    assert names(page)[0] == "toy-crash"
    assert page.value("document.querySelector('th[data-column=found]').getAttribute('aria-sort')") == "ascending"
    after = dict(
        zip(
            names(page),
            page.value("[...document.querySelectorAll('#board td.place')].map(e => e.textContent)"),
            strict=True,
        )
    )
    assert after == before
    page.open(f"{address}#sort=found&order=up")  # the state is in the address
    assert names(page)[0] == "toy-crash"


def test_filtering_recomputes_what_it_shows_and_hides_the_rest(page: Page, address: str) -> None:
    page.open(address)
    assert cells(page, "found")[0].startswith("4 of 4")
    assert page.value("document.getElementById('filtered').hidden")
    choose(page, "model", "threshold")
    assert cells(page, "found") == ["2 of 2 (100.0%)", "2 of 2 (100.0%)", "0 of 2 (0.0%)"]
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
