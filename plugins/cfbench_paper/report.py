"""The report next to the paper: all its tables, figures and statements, as a page and as files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from cfbench import CfbenchError, Dataset
from cfbench.analysis import RenderedReport, ReportContext, visible
from cfbench_paper.charts import Figure, fixability, invalidity
from cfbench_paper.claims import Claim, ClaimResult, claims, claims_table, local_claims_table
from cfbench_paper.cost_tables import (
    accident_table,
    added_cost,
    added_time,
    cost_of_robustness,
    k_score,
    relative_cost,
    relative_cost_table,
)
from cfbench_paper.evidence import Evidence, gather
from cfbench_paper.gaps import Gaps, first_commands, gap_table, gaps
from cfbench_paper.published import POINTS
from cfbench_paper.search_tables import relative_loss, run_times, searchers_table, significance_table, success_table
from cfbench_paper.settings_tables import (
    Accuracies,
    accuracy_table,
    datasets_table,
    grids,
    perturbations_table,
    searcher_settings,
    tuned_table,
)
from cfbench_paper.tables import DATASETS, DISTRIBUTIONS, MODELS, ReportTable, decimal


@dataclass(frozen=True)
class Section:
    """Tables and figures on one matter."""

    name: str  # its anchor
    title: str
    lead: str
    items: tuple[ReportTable | Figure, ...]


@dataclass(frozen=True)
class PaperReport:
    """The comparison."""

    record: str  # what the record is called
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    gaps: Gaps
    problems: tuple[str, ...]  # what could not be read or compared


def render(context: ReportContext) -> RenderedReport:
    """Return the page with all tables and figures, and what the command prints."""
    report = make_report(context)
    return RenderedReport(dict(_files(report)), "\n".join(_said(report)), report.problems)


def make_report(context: ReportContext) -> PaperReport:
    """Compare a record with the paper.

    Raises
    ------
    CfbenchError
        If the record holds no cell of the paper's experiments; the message has the command that makes some.
    """
    datasets, problems = _at_hand(context)
    evidence = gather(context, datasets)
    results = context.record.path
    if not evidence.selection.cells:
        raise _nothing(results, evidence, context.command)
    accuracies = Accuracies(context, datasets)
    found = claims(evidence.robust)
    complaints = [
        f"{text} (in {count} cells)" for text, count in evidence.complaints.items() if "not measured" not in text
    ]
    return PaperReport(
        record=str(results),
        claims=tuple(found),
        sections=(
            Section("claims", "What holds here", "", (claims_table(found), local_claims_table(found))),
            *_sections(context, datasets, accuracies, evidence),
        ),
        gaps=gaps(evidence, results, context.command),
        problems=(*context.record.problems, *problems, *complaints),
    )


def _sections(
    context: ReportContext, datasets: Mapping[str, Dataset], accuracies: Accuracies, evidence: Evidence
) -> Iterator[Section]:
    robust, searching = evidence.robust, evidence.searching
    yield Section(
        "accident",
        "Question 1: is robustness found by accident?",
        "",
        (accident_table(robust), accident_table(robust, same_changes=False)),
    )
    yield Section(
        "correction",
        "Question 2: can perturbations be corrected?",
        "The column C, K has no counterpart in the paper, which takes it to equal K: a draw that K alone survives "
        "may be invalidated together with a setback, and then K has to be walked back as well.",
        tuple(fixability(robust, model) for model in MODELS),
    )
    yield Section(
        "cost",
        "Question 3: what do perturbations cost?",
        "The same costs twice: as the text defines them, and in the reading of the published experiments.",
        (
            relative_cost_table(robust),
            *(relative_cost(robust, model, one) for model in MODELS for one in DISTRIBUTIONS),
            *(relative_cost(robust, model, one, published=True) for model in MODELS for one in DISTRIBUTIONS),
            *(cost_of_robustness(robust, model) for model in MODELS),
        ),
    )
    yield Section("invalidity", "Invalidity", "", tuple(invalidity(robust, model) for model in MODELS))
    yield Section(
        "samples",
        "How many samples does K need?",
        "",
        tuple(draw(robust, model) for draw in (k_score, added_time, added_cost) for model in MODELS),
    )
    yield Section(
        "significance",
        "Significance",
        "",
        tuple(significance_table(robust, dataset) for dataset in DATASETS),
    )
    yield Section(
        "searchers",
        "Which searcher?",
        "Constraints off, the loss alone; LORE with fewer points and repetitions in the paper.",
        (
            success_table(searching),
            *(run_times(evidence.seconds, model) for model in MODELS),
            *(relative_loss(searching, model) for model in MODELS),
            *((searchers_table(searching),) if len(searching) else ()),
            *((gap_table(evidence.optimum),) if len(evidence.optimum) else ()),
        ),
    )
    yield Section(
        "setup",
        "Data sets, models, settings",
        "",
        (
            datasets_table(datasets, accuracies),
            perturbations_table(datasets),
            searcher_settings(context),
            grids(context),
            *(table(model, accuracies) for model in MODELS for table in (accuracy_table, tuned_table)),
        ),
    )


def _at_hand(context: ReportContext) -> tuple[dict[str, Dataset], list[str]]:
    datasets, problems = {}, []
    for name in DATASETS:
        try:
            datasets[name] = context.dataset(name)
        except CfbenchError as error:
            problems.append(f"data set {name} is not at hand, and what needs its table is absent: {error}")
    return datasets, problems


def _nothing(results: Path, evidence: Evidence, command: str) -> CfbenchError:
    others = evidence.selection.passed_over
    held = f", though {others} of others, which `{command} leaderboard` shows" if others else ""
    failed = len(evidence.selection.without_results)
    failures = f" {failed} of them failed or were skipped." if failed else ""
    return CfbenchError(
        f"{results} holds no finished cell of the paper's experiments{held}.{failures} "
        f"{first_commands(results, command)}"
    )


@dataclass(frozen=True)
class SectionItems:
    """Items of a section that stand together: figures, or tables."""

    figures: bool
    items: tuple[ReportTable | Figure, ...]


class Drawings:
    """Takes inline drawings and collects what they repeat, their styles, for the page's style sheet."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}

    def __call__(self, figure: Figure) -> Markup:
        """Return a figure's SVG for the page."""
        # Drawn by us: no text of a record or a plugin is in it unescaped.
        return Markup(re.sub(r' style="([^"]*)"', self._class, figure.inline))  # noqa: S704

    def css(self) -> Markup:
        """Return the rules of all drawings so far."""
        rules = [f".{name}{{{style}}}" for style, name in self._classes.items()]
        return Markup("\n".join(rules))  # noqa: S704 - as above

    def _class(self, found: re.Match[str]) -> str:
        style = found[1].replace("; ", ";").replace(": ", ":").rstrip(";")
        return f' class="{self._classes.setdefault(style, f"d{len(self._classes)}")}"'


def render_page(report: PaperReport) -> str:
    """Return the page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_printable, keep_trailing_newline=True
    )
    folder = files("cfbench_paper") / "templates"
    drawings = Drawings()
    drawn = {
        item.name: drawings(item) for section in report.sections for item in section.items if isinstance(item, Figure)
    }
    environment.filters["code"] = _with_code
    template = environment.from_string((folder / "paper.html.j2").read_text(encoding="utf-8"))
    return template.render(
        report=report,
        css=Markup((folder / "paper.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        drawing_css=drawings.css(),
        drawing=lambda figure: drawn[figure.name],
        result=headline(report.claims),
        missing=lacks(report.gaps),
        points=POINTS,
        names=DATASETS,
        runs=_runs,
        value=lambda number: decimal(number, 3),
    )


def headline(claims: Sequence[Claim]) -> str:
    """Say in one sentence how the paper's claims fare."""
    counts = {verdict: sum(one.verdict is verdict for one in claims) for verdict in ClaimResult}
    return (
        f"Of {len(claims)} statements that stand for the paper's claims {counts[ClaimResult.HOLDS]} hold here, "
        f"{counts[ClaimResult.FAILS]} do not, and {counts[ClaimResult.OPEN]} cannot be decided from this record."
    )


def lacks(found: Gaps) -> str:
    """Say in one sentence how much is missing; empty where nothing is."""
    parts = [f"{found.cells} cells of the paper's experiments"] if found.cells else []
    parts += [f"{len(found.unmeasured)} metrics of some cells"] if found.unmeasured else []
    return f"This record lacks {' and '.join(parts)}; the rest is shown." if parts else ""


def _runs(items: Sequence[ReportTable | Figure]) -> list[SectionItems]:
    groups = groupby(items, key=lambda item: isinstance(item, Figure))
    return [SectionItems(figures, tuple(group)) for figures, group in groups]


def _with_code(sentence: str) -> Markup:
    """Return a sentence as markup: what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(sentence)))))  # noqa: S704 - escaped


def _printable(value: object) -> object:
    """Make control characters of foreign names visible; what is markup already was made here."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _files(report: PaperReport) -> Iterator[tuple[str, bytes]]:
    """Yield the files, the page first."""
    yield "paper.html", render_page(report).encode()
    for section in report.sections:
        for item in section.items:
            if isinstance(item, Figure):
                yield f"figures/{item.name}.svg", item.svg.encode()
                yield f"figures/{item.name}.png", item.png
                yield f"figures/{item.name}.csv", item.numbers.csv().encode()
            else:
                yield f"tables/{item.name}.md", item.markdown().encode()
                yield f"tables/{item.name}.csv", item.csv().encode()


def _said(report: PaperReport) -> Iterator[str]:
    """Say on the terminal what the page begins and ends with: the claims, and what is missing."""
    yield from report.gaps.coverage
    yield f"\n{headline(report.claims)}"
    width = max(len(one.verdict.value) for one in report.claims)
    for one in report.claims:
        found = one.found
        value = (
            "no value"
            if found is None
            else f"{decimal(found.mean, 3)} [{decimal(found.low, 3)}, {decimal(found.high, 3)}], n = {found.n}"
        )
        claimed = f"claimed {one.threshold}; the authors: {one.authors}"
        yield f"  {one.verdict.value:<{width}}  {one.claim}: {value}, {claimed}"
        for here in one.local:
            reached = f", goal {one.goal:g}" if one.goal else ""
            yield (
                f"  {'':<{width}}    {DATASETS[here.dataset]}: {decimal(here.found.mean, 3)} ± "
                f"{decimal(here.found.half_width, 3)}{reached}, n = {here.found.n}: {here.verdict.value}"
            )
    if report.gaps.measure:
        yield f"\n{lacks(report.gaps)}"
        yield from (f"  {line}" for line in report.gaps.missing)
        yield from (f"  not measured: {line}" for line in report.gaps.unmeasured)
        yield "Add it with"
        yield from (f"  {line}" for line in (*report.gaps.run, report.gaps.measure))
