"""The page: whole, harmless, alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from cfbench_paper.charts import fixability
from cfbench_paper.claims import claims, claims_table
from cfbench_paper.cost_tables import accident_table
from cfbench_paper.gaps import Gaps
from cfbench_paper.report import PaperReport, Section, headline, lacks, render_page
from tests.plugins.paper.records import patterns

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script>\x1b[2J"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Reader(HTMLParser):
    """Counts elements, checks that they close, and keeps attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def report() -> PaperReport:
    found = claims(patterns())
    return PaperReport(
        record=HOSTILE,
        claims=tuple(found),
        sections=(
            Section("claims", "What holds here", "", (claims_table(found),)),
            Section(
                "some",
                "Some of it",
                "A lead.",
                (
                    accident_table(patterns()),
                    fixability(patterns(), "random-forest"),
                    fixability(patterns(), "neural-network"),
                ),
            ),
        ),
        gaps=Gaps(
            (f"On robustness: {HOSTILE}",), (f"CoGS: {HOSTILE}",), 3, ("cfbench run",), ("k",), "cfbench measure", "all"
        ),
        problems=(f"`cfbench fit` and {HOSTILE}",),
    )


@pytest.fixture(scope="module")
def page(report: PaperReport) -> str:
    return render_page(report)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_it_closes_what_it_opens_and_has_each_id_once(page: str) -> None:
    reader = read(page)
    ids = Counter(attrs["id"] for _, attrs in reader.seen if "id" in attrs)
    assert set(ids.values()) == {1}
    anchors = {str(attrs["href"])[1:] for tag, attrs in reader.seen if tag == "a"}
    assert anchors <= set(ids)
    assert {f"difference-{number}" for number in range(1, 9)} <= set(ids)


def test_it_asks_for_nothing(page: str) -> None:
    reader = read(page)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in reader.seen}
    for _, attrs in reader.seen:
        assert all(not str(attrs[name]).startswith(("http", "//")) for name in ("src", "href") if name in attrs)
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\((?!#)", page)


def test_foreign_names_are_harmless(page: str) -> None:
    assert "<script>" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 4
    assert "<code>cfbench fit</code> and &lt;script&gt;" in page


def test_tables_and_figures_can_be_read_without_seeing(page: str) -> None:
    reader = read(page)
    tags = Counter(tag for tag, _ in reader.seen)
    assert tags["table"] == tags["caption"] == 3  # one, and the numbers of two figures
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in reader.seen if tag == "th")
    images = [attrs for _, attrs in reader.seen if attrs.get("role") == "img"]
    assert len(images) == tags["figure"] == tags["svg"] == 2
    assert all(len(str(attrs["aria-label"])) > 50 for attrs in images)
    assert all(attrs.get("tabindex") == "0" for _, attrs in reader.seen if attrs.get("class") == "scroll")


def test_numbers_stand_with_the_papers_and_the_differences(page: str) -> None:
    assert '<span class="ours">0.54</span>' in page
    assert 'paper 0.42 ± 0.07<sup><a href="#difference-1"' in page
    assert "✗ does not hold" in page
    assert "claimed: below 0.5" in page


def test_drawings_share_a_style_sheet(page: str) -> None:
    body = page.partition("</style>")[2]
    assert " style=" not in body
    used = set(re.findall(r'class="(d\d+)"', body))
    assert used
    assert used == set(re.findall(r"^\.(d\d+)\{", page, flags=re.MULTILINE))


def test_what_is_missing_is_said_on_top_and_listed_below(report: PaperReport, page: str) -> None:
    assert (
        lacks(report.gaps)
        == "This record lacks 3 cells of the paper's experiments and 1 metrics of some cells; the rest is shown."
    )
    assert page.count("This record lacks") == 1
    assert "<pre><code>cfbench run</code></pre>" in page
    whole = replace(
        report, gaps=replace(report.gaps, missing=(), cells=0, run=(), unmeasured=(), measure=""), problems=()
    )
    text = render_page(whole)
    assert "This record lacks" not in text
    assert "No cell of the paper's experiments is missing" in text
    assert lacks(whole.gaps) == ""


def test_the_headline_counts(report: PaperReport) -> None:
    sentence = headline(report.claims)
    counts = [int(number) for number in re.findall(r"\d+", sentence)]
    assert counts[0] == sum(counts[1:]) == len(report.claims)
