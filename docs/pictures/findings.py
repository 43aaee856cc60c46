"""Fill docs/findings.md and the statements of docs/reproduce-the-paper.md from a record, and draw the four figures.

``python docs/pictures/findings.py leaderboard/paper`` writes them. What the record does not hold is left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from cfbench.analysis.reports import ReportContext
from cfbench.caches import cache_dir
from cfbench.errors import CfbenchError
from cfbench.record.store import Record
from cfbench.registry.registry import build_registry
from cfbench.running.fitted import FittedModels
from cfbench.space.space import FloatArray
from cfbench.study.sources import data_source
from cfbench_paper.charts import BLUE, INK, ORANGE, absent, draw
from cfbench_paper.claims import Claim, Estimate, claims, estimate, interval_text, published_accidents
from cfbench_paper.cost_tables import relative_cost_table
from cfbench_paper.evidence import Evidence, gather
from cfbench_paper.gaps import gap_table
from cfbench_paper.tables import ABSENT, DATASETS, DISTRIBUTIONS, MODELS, PARTS, ROBUSTNESS, ReportTable, decimal

DOCS = Path(__file__).parents[1]
GOAL_TEXT = {True: "reached", False: "not reached"}
Series = Mapping[str, Sequence[Estimate | float | None]]
"""Values by the label of a series, one per group: an estimate, a bare number, or None where there is none."""


def evidence_of(path: Path) -> Evidence:
    """Read a record with the data sets that are at hand."""
    source = data_source([], download=False)
    context = ReportContext(Record.open(path), build_registry(), source, FittedModels(cache_dir()))
    datasets = {}
    for name in DATASETS:
        try:
            datasets[name] = context.dataset(name)
        except CfbenchError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return gather(context, datasets)


def means(rows: pd.DataFrame, dataset: str, objective: str, stem: str) -> Estimate | None:
    """Return the mean of a metric on a data set, both models and distributions alike, with its interval."""
    mine = rows[(rows["dataset"] == dataset) & (rows["objective"] == objective)]
    columns = [stem] if stem in mine else [f"{stem}/{distribution}" for distribution in DISTRIBUTIONS]
    samples = {(dataset, model): _values(mine.loc[mine["model"] == model, columns]) for model in MODELS}
    return estimate(samples, resample_strata=False)


def _values(columns: pd.DataFrame) -> FloatArray:
    values: FloatArray = columns.astype("float64").mean(axis=1, skipna=False).to_numpy()
    return values


def accident(rows: pd.DataFrame, dataset: str) -> Series:
    """Return shares of accidental matches, ours and the paper's, by what is accounted for."""
    ours = [means(rows, dataset, part, "accidental/5") for part in PARTS]
    theirs = [
        float(np.mean([values[0] for place, values in published_accidents((part,)).items() if place[0] == dataset]))
        for part in PARTS
    ]
    return {"here": ours, "paper": theirs}


def fixable(rows: pd.DataFrame, dataset: str) -> Series:
    """Return fixability under perturbations to K, by what is accounted for."""
    return {"here": [means(rows, dataset, objective, "fixability/k") for objective in ROBUSTNESS]}


def costs(rows: pd.DataFrame, dataset: str) -> Series:
    """Return relative costs by what is perturbed: without accounting for anything, and with accounting for it."""
    return {
        "for nothing": [means(rows, dataset, "none", f"relative-cost/{part}") for part in PARTS],
        "for that part": [means(rows, dataset, part, f"relative-cost/{part}") for part in PARTS],
    }


def readings(rows: pd.DataFrame, dataset: str) -> Series:
    """Return the relative cost without accounting for anything, as the text has it and in the published reading."""
    return {
        "text": [means(rows, dataset, "none", f"relative-cost/{part}") for part in PARTS],
        "published reading": [means(rows, dataset, "none", f"relative-cost-published/{part}") for part in PARTS],
    }


def permanent(rows: pd.DataFrame, dataset: str) -> Mapping[str, Sequence[float | None]]:
    """Return the shares of draws that cannot be walked back, for each value of `costs`."""

    def share(objective: str, part: str) -> float | None:
        found = means(rows, dataset, objective, f"fixability/{part}")
        return None if found is None else 1.0 - found.mean

    return {
        "for nothing": [share("none", part) for part in PARTS],
        "for that part": [share(part, part) for part in PARTS],
    }


FIGURES = {
    "accident": (
        "Share of results that are robust by accident, by what is accounted for, here and in the paper",
        accident,
        list(PARTS.values()),
        False,
    ),
    "fixability": (
        "Share of perturbations to K that can be walked back, by what is accounted for",
        fixable,
        list(ROBUSTNESS.values()),
        False,
    ),
    "cost": (
        "Relative cost by what is perturbed, of searches that account for nothing and for that part, with the share of "
        "draws that cannot be walked back",
        costs,
        list(PARTS.values()),
        True,
    ),
    "readings": (
        "Relative cost by what is perturbed, nothing accounted for, in two readings",
        readings,
        list(PARTS.values()),
        True,
    ),
}


def drawing(rows: pd.DataFrame, name: str) -> str | None:
    """Return a figure as SVG, one panel per data set; None where the record has no value for it."""
    _, of, groups, ratio = FIGURES[name]
    found = {dataset: of(rows, dataset) for dataset in DATASETS}
    if not any(isinstance(value, Estimate) for series in found.values() for one in series.values() for value in one):
        return None

    shares = {dataset: permanent(rows, dataset) for dataset in DATASETS} if name == "cost" else {}
    bounds = [
        bound
        for series in found.values()
        for one in series.values()
        for value in one
        if isinstance(value, Estimate)
        for bound in (value.low, value.high)
    ]

    def panel(axes: Axes, number: int) -> None:
        dataset = list(DATASETS)[number]
        series = found[dataset]
        if not any(isinstance(value, Estimate) for one in series.values() for value in one):
            absent(axes)
            return
        for place, ((label, values), colour) in enumerate(zip(series.items(), (BLUE, ORANGE), strict=False)):
            shift = 0.18 * (place - (len(series) - 1) / 2)
            for group, value in enumerate(values):
                mean = value.mean if isinstance(value, Estimate) else value
                if mean is None:
                    continue
                bar = [[mean - value.low], [value.high - mean]] if isinstance(value, Estimate) else None
                marker = "o" if bar is not None else "D"
                axes.errorbar([group + shift], [mean], yerr=bar, fmt=marker, markersize=4, color=colour, ecolor=INK)
                share = shares[dataset][label][group] if shares else None
                if share is not None:
                    axes.annotate(
                        f"{100 * share:.0f} %",
                        (group + shift, mean),
                        xytext=(5 if place else -5, 0),
                        textcoords="offset points",
                        ha="left" if place else "right",
                        va="center",
                        fontsize=7,
                    )
            if len(series) > 1:
                axes.plot([], [], "o" if label != "paper" else "D", markersize=4, color=colour, label=label)
        if len(series) > 1 and dataset == first:
            axes.legend(loc="lower left", bbox_to_anchor=(0.2, 0.98), ncols=2, borderaxespad=0)
        axes.set_xticks(range(len(groups)), groups)
        axes.set_xlim(-0.6, len(groups) - 0.4)
        if ratio:
            axes.set_yscale("log")
            axes.set_ylim(min(0.8, 0.9 * min(bounds)), 1.3 * max(bounds))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.axhline(1.0, color=INK, linewidth=0.6, linestyle=":", zorder=0)
        else:
            axes.set_ylim(-0.03, 1.05)

    first = next(
        dataset
        for dataset, series in found.items()
        if any(isinstance(value, Estimate) for one in series.values() for value in one)
    )
    svg, _ = draw(f"findings-{name}", list(DATASETS.values()), panel, height=1.2)
    # Coordinates to a tenth of a point keep the file small.
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{2,}", lambda one: f"{float(one[0]):.1f}", tag[0]), svg)


def statements(found: Sequence[Claim]) -> str:
    """Return all statements as a table, those about data sets in general on each data set as well."""
    lines = [
        "| statement | claimed | here | value, 95 % interval | half-width | n | the authors |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        goal = None if one.local else one.goal
        head = [one.claim, str(one.threshold), one.verdict.value if one.found else "not measured"]
        lines.append(_line([*head, *_numbers(one.found, goal), one.authors]))
        for here in one.local:
            head = [f"- {DATASETS[here.dataset]}", "", here.verdict.value]
            lines.append(_line([*head, *_numbers(here.found, one.goal), here.authors]))
    remarks = [f"- {one.claim}: {one.remark}" for one in found if one.remark and one.found]
    return "\n".join([*lines, "", *remarks]).rstrip()


def _numbers(found: Estimate | None, goal: float | None) -> list[str]:
    if found is None:
        return [ABSENT, ABSENT, ABSENT]
    reached = "" if goal is None else f" (goal {goal:g}: {GOAL_TEXT[found.half_width <= goal]})"
    width = f"{decimal(found.half_width, 3)}{reached}"
    return [f"{decimal(found.mean, 3)}, {interval_text(found)}", width, str(found.n)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def some_claims(found: Sequence[Claim], *beginnings: str) -> str:
    """Return the statements that begin so, as a table; empty where the record decides none of them."""
    chosen = [one for one in found if one.claim.startswith(beginnings) and one.found]
    return statements(chosen) if chosen else ""


def of_table(table: ReportTable) -> str:
    """Return a table without its title; empty where it has no numbers."""
    if all(entry.ours == ABSENT for row in table.rows for entry in row.entries):
        return ""
    return table.markdown().partition("\n\n")[2].strip()


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """Replace what stands between ``<!-- NAME -->`` and ``<!-- end of NAME -->``, by name."""
    for name, text in blocks.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"the page must hold {begin} and {end} once each")
        before, _, rest = page.partition(begin)
        page = (
            f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"
            if text
            else (f"{before}{begin}\n{end}{rest.partition(end)[2]}")
        )
    return page


def picture(name: str, alt: str, svg: str | None) -> str:
    """Write a figure next to this script and return its link; remove it where there is nothing to show."""
    path = Path(__file__).with_name(f"findings-{name}.svg")
    if svg is None:
        path.unlink(missing_ok=True)
        return ""
    path.write_text(svg, encoding="utf-8")
    return f"![{alt}](pictures/{path.name})"


def main(record: Path) -> None:
    """Write both pages and the figures."""
    evidence = evidence_of(record)
    found = claims(evidence.robust)
    rows = evidence.robust[evidence.robust["found"].astype(bool)]
    pictures = {f"figure {name}": picture(name, title, drawing(rows, name)) for name, (title, *_) in FIGURES.items()}
    blocks = {
        **pictures,
        "statements 1": some_claims(found, "Robustness is seldom", "… to perturbations"),
        "statements 2": some_claims(
            found, "Setbacks are", "Accounting for K raises", "… except on Cre", "A few samples"
        ),
        "statements 3": some_claims(
            found, "Relative costs", "… and are gone", "Under perturbations", "Accounting for C"
        ),
        "relative cost": of_table(relative_cost_table(rows)),
        "gap": of_table(gap_table(evidence.optimum)) if len(evidence.optimum) else "",
    }
    page = DOCS / "findings.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    page = DOCS / "reproduce-the-paper.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), {"statements": statements(found)}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
