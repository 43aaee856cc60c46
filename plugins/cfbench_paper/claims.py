"""The paper's statements, each decided on a record with an interval from the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from cfbench.space import FloatArray
from cfbench_paper.published import block
from cfbench_paper.tables import (
    ABSENT,
    DATASETS,
    DISTRIBUTIONS,
    MODELS,
    PARTS,
    ReportTable,
    TableCell,
    TableRow,
    decimal,
)

BOOTSTRAPS = 2000
SEED = 20231
"""The same intervals from the same record, always."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int  # values
    strata: int  # what they were taken from: (data set, model) pairs

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def estimate(samples: Mapping[Any, FloatArray], *, resample_strata: bool) -> Estimate | None:
    """Return the mean over strata of each stratum's mean, with a bootstrap interval.

    Every stratum counts alike, however many points it has.

    `samples`: values by stratum; NaN and empty strata are left out. `resample_strata`: whether strata are drawn anew as
    well, then points within them: an interval for data sets and models like these. Otherwise one for these alone.
    Returns None without any value.
    """
    kept = [values[np.isfinite(values)] for values in samples.values()]
    kept = [values for values in kept if values.size]
    if not kept:
        return None
    rng = np.random.default_rng(SEED)
    k = len(kept)
    drawn = rng.integers(k, size=(BOOTSTRAPS, k)) if resample_strata else np.tile(np.arange(k), (BOOTSTRAPS, 1))
    means = np.empty(drawn.shape)
    for number, values in enumerate(kept):
        places = drawn == number
        picks = rng.integers(values.size, size=(int(places.sum()), values.size))
        means[places] = values[picks].mean(axis=1)
    low, high = np.quantile(means.mean(axis=1), (0.025, 0.975))
    mean = float(np.mean([values.mean() for values in kept]))
    return Estimate(mean, float(low), float(high), sum(values.size for values in kept), k)


FEWEST = 6
"""Values below which no claim is decided."""

NOT_AT_HAND = "not at hand"
"""Stands for a value of the authors that the paper does not print."""

Samples = Mapping[tuple[str, str], FloatArray]
"""Values by data set and model."""


class ClaimResult(StrEnum):
    """What a record says about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decidable here"


@dataclass(frozen=True)
class Threshold:
    """Where a number has to lie."""

    bound: float
    words: str

    def verdict(self, found: Estimate | None) -> ClaimResult:
        """Say on which side an interval lies.

        With "at least" and "at most" the claim holds of every single value: an interval that passes the bound refutes
        it.
        """
        if found is None or found.n < FEWEST:
            return ClaimResult.OPEN
        up = self.words in ("above", "at least")
        low, high = (found.low, found.high) if up else (-found.high, -found.low)
        edge = self.bound if up else -self.bound
        always = self.words.startswith("at ")
        if low > edge or (always and low >= edge):
            return ClaimResult.HOLDS
        return ClaimResult.FAILS if high < edge or (always and low < edge) else ClaimResult.OPEN

    def __str__(self) -> str:
        return f"{self.words} {self.bound:g}"


@dataclass(frozen=True)
class Local:
    """A claim on one data set, both models: an interval for these points."""

    dataset: str
    verdict: ClaimResult
    found: Estimate
    authors: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim and what the record says about it."""

    claim: str  # the paper's, in our words
    statistic: str  # the number that stands for it, and over what
    threshold: Threshold  # where it has to lie
    verdict: ClaimResult
    found: Estimate | None  # None if the record has no value
    remark: str = ""  # what to keep in mind
    authors: str = NOT_AT_HAND  # the authors' value under the same computation, or that it is not at hand
    local: tuple[Local, ...] = field(default=())  # the same on each data set, where the claim is about all of them
    goal: float | None = None  # the half-width of an interval on one data set that a study should reach


def judged(
    claim: str,
    statistic: str,
    samples: Samples,
    threshold: Threshold,
    *,
    across: bool = False,
    remark: str = "",
    authors: str = NOT_AT_HAND,
    local_authors: Mapping[str, str] | None = None,
    goal: float | None = None,
) -> Claim:
    """Compare an estimate with its threshold.

    A claim holds where the whole 95 % interval lies on its side of the threshold, does not hold where it lies on the
    other, and is not decidable otherwise, or with fewer than six values.

    `samples`: values by data set and model. `across`: whether the claim is about data sets and models in general: the
    interval then counts on others, and the claim is judged on each data set as well. `local_authors`: the authors'
    values by data set.
    """
    found = estimate(samples, resample_strata=across)
    local = []
    for dataset in DATASETS if across else ():
        mine = {place: values for place, values in samples.items() if place[0] == dataset}
        here = estimate(mine, resample_strata=False)
        if here is not None:
            printed = (local_authors or {}).get(dataset, "")
            local.append(Local(dataset, threshold.verdict(here), here, printed))
    return Claim(claim, statistic, threshold, threshold.verdict(found), found, remark, authors, tuple(local), goal)


def interval_text(found: Estimate | None, digits: int = 3) -> str:
    """Write an interval as people read it."""
    return "" if found is None else f"{decimal(found.low, digits)} to {decimal(found.high, digits)}"


def claims_table(found: list[Claim]) -> ReportTable:
    """Return the claims as a table."""
    rows = []
    for one in found:
        entries = (
            TableCell(one.verdict.value, numbers=_numbers(one.found)),
            *_entries(one.found, None if one.local else one.goal),
        )
        rows.append(
            TableRow((one.claim, one.statistic), (*entries, TableCell(str(one.threshold)), TableCell(one.authors)))
        )
    return ReportTable(
        "claims",
        "The paper's claims",
        "A claim holds where the whole 95 % interval (2,000 bootstraps, seeded) lies on its side of the threshold, "
        "does not hold where it lies on the other side, and is not decidable otherwise or with fewer than six values. "
        "Half-width: of the interval.",
        ("claim", "what stands for it"),
        ("verdict", "value", "95 % interval", "half-width", "claimed", "the authors"),
        tuple(rows),
        tuple(f"{one.claim}: {one.remark}" for one in found if one.remark),
    )


def local_claims_table(found: list[Claim]) -> ReportTable:
    """Return the claims about data sets in general, on each data set."""
    rows = [
        TableRow(
            (one.claim, DATASETS[here.dataset]),
            (
                TableCell(here.verdict.value, numbers=_numbers(here.found)),
                *_entries(here.found, one.goal),
                TableCell(str(one.threshold)),
                TableCell(here.authors or ABSENT),
            ),
        )
        for one in found
        for here in one.local
    ]
    return ReportTable(
        "claims-by-data-set",
        "The same on each data set",
        "Both models of a data set count alike. The intervals are for the points of these data sets, so they decide "
        "where an interval for data sets in general cannot.",
        ("claim", "data set"),
        ("verdict", "value", "95 % interval", "half-width", "claimed", "the authors"),
        tuple(rows),
    )


def _entries(found: Estimate | None, goal: float | None) -> tuple[TableCell, TableCell, TableCell]:
    if found is None:
        return TableCell("no value", "n = 0"), TableCell(""), TableCell("")
    reached = "" if goal is None else f"goal {goal:g}"
    return (
        TableCell(decimal(found.mean, 3), f"n = {found.n}"),
        TableCell(interval_text(found)),
        TableCell(decimal(found.half_width, 3), reached),
    )


def _numbers(found: Estimate | None) -> dict[str, float | int | None]:
    if found is None:
        return {}
    return {"mean": found.mean, "low": found.low, "high": found.high, "half-width": found.half_width, "n": found.n}


FIXABILITY_GOAL, COST_GOAL = 0.04, 0.3
"""Half-widths that a study should reach on each data set."""


def claims(robust: pd.DataFrame) -> list[Claim]:
    """Return all claims with their verdicts; `robust` as in :class:`~cfbench_paper.evidence.Evidence`."""
    rows = robust[robust["found"].astype(bool) & robust["model"].isin(MODELS)]
    return [
        *_by_accident(rows),
        _setbacks_fixable(rows),
        *_fixability_of_k(rows),
        _time_of_c(rows),
        _few_samples(rows),
        *_magnitude(rows),
        *_worth_it(rows),
    ]


def _by_accident(rows: pd.DataFrame) -> Iterator[Claim]:
    whole = (tuple(PARTS), "Robustness is seldom found by accident", "C, K, both", "")
    remarks = {"c": "Divided by the range, setbacks change the loss little (difference 1), so the two searches agree."}
    alone = (((part,), f"… to perturbations to {text}", text, remarks.get(part, "")) for part, text in PARTS.items())
    for objectives, claim, notions, remark in (whole, *alone):
        samples = {
            place: np.concatenate([_column(mine, objective, "accidental/5") for objective in objectives])
            for place, mine in _pairs(rows)
        }
        theirs = published_accidents(objectives)
        pooled = estimate(theirs, resample_strata=True)
        assert pooled is not None
        yield judged(
            claim,
            f"share of results that match those of a search for robustness ({notions}; tolerance 5 %), over all data "
            "sets and models",
            samples,
            Threshold(0.5, "below"),
            across=True,
            remark=remark,
            authors=f"{decimal(pooled.mean, 3)}, {interval_text(pooled)}, from the table of the paper",
            local_authors={
                dataset: decimal(float(np.mean([theirs[dataset, model][0] for model in MODELS])), 3)
                for dataset in DATASETS
            },
        )


def published_accidents(objectives: Sequence[str]) -> Samples:
    """Return the paper's shares of accidental matches (tolerance 5 %) by data set and model, the mean of objectives."""
    return {
        (dataset, model): np.array(
            [np.mean([block("accidental", model, objective, "5")[dataset][0] for objective in objectives])]
        )
        for dataset in DATASETS
        for model in MODELS
    }


def _setbacks_fixable(rows: pd.DataFrame) -> Claim:
    return judged(
        "Setbacks are always fixable",
        "share of random setbacks that can be corrected, all notions of robustness",
        {place: _together(mine, "fixability/c") for place, mine in _pairs(rows)},
        Threshold(1.0, "at least"),
        across=True,
        remark="A single setback that cannot be corrected would refute it.",
        authors="1, by the text",
    )


def _fixability_of_k(rows: pd.DataFrame) -> Iterator[Claim]:
    """Whether accounting for K helps under perturbations to K, on each data set."""
    for dataset, short in sorted(DATASETS.items(), key=lambda item: item[0] == "credit"):
        pairs = [(place, mine) for place, mine in _pairs(rows) if place[0] == dataset]
        samples = {place: _difference(mine, "k", "fixability/k") for place, mine in pairs}
        parts = (np.asarray(_by_point(mine, "none", "fixability/k"), dtype=np.float64) for _, mine in pairs)
        before = np.concatenate([np.empty(0), *parts])
        before = before[np.isfinite(before)]
        claim = f"Accounting for K raises fixability on {short}"
        statistic = f"{short}: fixability under perturbations to K with accounting for K minus without, both models"
        authors = "0: everything can be corrected there, by the text" if dataset == "productivity" else NOT_AT_HAND
        if dataset == "credit":
            remark = "“No rise” is read as a rise of less than 0.05."
            threshold = Threshold(0.05, "below")
            yield judged("… except on Cre", statistic, samples, threshold, remark=remark, goal=FIXABILITY_GOAL)
        elif before.size and (before == 1.0).all():
            remark = "Everything can be corrected there without it, so there is nothing to raise."
            found = estimate(samples, resample_strata=False)
            yield Claim(claim, statistic, Threshold(0.0, "above"), ClaimResult.OPEN, found, remark, authors)
        else:
            threshold = Threshold(0.0, "above")
            yield judged(claim, statistic, samples, threshold, authors=authors, goal=FIXABILITY_GOAL)


def _time_of_c(rows: pd.DataFrame) -> Claim:
    spent = {
        objective: estimate(
            {place: _column(mine, objective, "cpu_seconds") for place, mine in _pairs(rows)}, resample_strata=False
        )
        for objective in ("none", "c", "k")
    }
    seconds = [
        f"{decimal(found.mean, 3)} ({text})"
        for (objective, found), text in zip(spent.items(), ("nothing", "C", "K with 64 samples"), strict=True)
        if found is not None
    ]
    told = f"CPU seconds of a search by what it accounts for: {', '.join(seconds)}. " if seconds else ""
    return judged(
        "Accounting for C costs no time",
        "rows that a search for C queries over those of one that accounts for nothing, point by point",
        {place: _ratio(mine, "c", "queries") for place, mine in _pairs(rows)},
        Threshold(1.0, "at most"),
        across=True,
        remark=f"{told}Rows are the same on every machine; seconds are not, so that no threshold is set for them.",
        authors="no number: “no significant extra cost in runtime”, by the text",
    )


def _few_samples(rows: pd.DataFrame) -> Claim:
    samples = {place: _difference(mine, "k[m=4]", "k-robustness") for place, mine in _pairs(rows)}
    whole = estimate(
        {
            place: _difference(mine, "k", "k-robustness")
            for place, mine in _pairs(rows)
            if (mine["objective"] == "k[m=4]").any()
        },
        resample_strata=True,
    )
    return judged(
        "A few samples (m = 4) already help",
        "K-robustness score of results with m = 4 minus that without samples",
        samples,
        Threshold(0.0, "above"),
        across=True,
        remark="" if whole is None else f"With 64 samples on the same data sets the rise is {decimal(whole.mean)}.",
    )


def _magnitude(rows: pd.DataFrame) -> Iterator[Claim]:
    """Where relative costs of two orders of magnitude come from: Income, setbacks, nothing accounted for."""
    mine = rows[(rows["dataset"] == "income") & (rows["objective"] == "none")]

    def samples(metric: str) -> Samples:
        return {
            ("income", model): mine.loc[mine["model"] == model, f"{metric}/c/uniform"].to_numpy(np.float64)
            for model in MODELS
        }

    where = "on Inc, uniform setbacks, nothing accounted for, both models"
    yield judged(
        "Relative costs of two orders of magnitude come from raw units",
        f"relative cost in the published reading, setbacks in raw units, {where}",
        samples("relative-cost-published"),
        Threshold(100.0, "above"),
        authors="over 100, by the text",
    )
    yield judged(
        "… and are gone when setbacks are divided by the range",
        f"relative cost as the text defines it {where}",
        samples("relative-cost"),
        Threshold(10.0, "below"),
        remark="This is ours, about difference 1; the paper reports over 100 on Inc.",
    )


def _worth_it(rows: pd.DataFrame) -> Iterator[Claim]:
    for part in ("c", "k"):
        text = PARTS[part]
        published = {place: _difference(mine, part, f"relative-cost-published/{part}") for place, mine in _pairs(rows)}
        small = "Divided by the range, setbacks cost little, so there is little to save (difference 1)."
        remarks = [
            small if part == "c" else "",
            _published_text(estimate(published, resample_strata=True)),
            _unfixable_text(rows, part),
        ]
        yield judged(
            f"Under perturbations to {text}, results that account for {text} cost less",
            f"relative cost with accounting for {text} minus without, all draws, both distributions, point by point",
            {place: _difference(mine, part, f"relative-cost/{part}") for place, mine in _pairs(rows)},
            Threshold(0.0, "below"),
            across=True,
            remark=" ".join(remark for remark in remarks if remark),
            goal=COST_GOAL,
        )


def _published_text(found: Estimate | None) -> str:
    if found is None:
        return ""
    return f"In the published reading the same difference is {decimal(found.mean)}, {interval_text(found, 2)}."


def _unfixable_text(rows: pd.DataFrame, part: str) -> str:
    """Say how many draws cannot be walked back, without and with accounting for a part."""
    shares = []
    for objective in ("none", part):
        samples = {
            place: 1.0 - np.asarray(_by_point(mine, objective, f"fixability/{part}"), dtype=np.float64)
            for place, mine in _pairs(rows)
        }
        shares.append(estimate(samples, resample_strata=False))
    without, having = shares
    if without is None or having is None:
        return ""
    return (
        f"Draws that cannot be walked back: {decimal(without.mean)} without, {decimal(having.mean)} with accounting "
        f"for {PARTS[part]}."
    )


def _pairs(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the rows of each data set and model."""
    for (dataset, model), mine in rows.groupby(["dataset", "model"], sort=True):
        yield (str(dataset), str(model)), mine


def _column(rows: pd.DataFrame, objective: str, column: str) -> FloatArray:
    return rows.loc[rows["objective"] == objective, column].to_numpy(np.float64)


def _together(rows: pd.DataFrame, stem: str) -> FloatArray:
    return rows[[f"{stem}/{distribution}" for distribution in DISTRIBUTIONS]].mean(axis=1).to_numpy(np.float64)


def _by_point(rows: pd.DataFrame, objective: str, column: str) -> pd.Series[float]:
    """Return a column, or the mean of a stem's two distributions, of one objective, by point."""
    mine = rows[rows["objective"] == objective].set_index(["fold", "row_id"])
    if column in mine.columns:
        return mine[column].astype("float64")
    both = mine[[f"{column}/{distribution}" for distribution in DISTRIBUTIONS]]
    return both.astype("float64").mean(axis=1, skipna=False)


def _difference(rows: pd.DataFrame, objective: str, column: str) -> FloatArray:
    change = _by_point(rows, objective, column) - _by_point(rows, "none", column)
    return np.asarray(change, dtype=np.float64)


def _ratio(rows: pd.DataFrame, objective: str, column: str) -> FloatArray:
    ratio = _by_point(rows, objective, column) / _by_point(rows, "none", column)
    return np.asarray(ratio, dtype=np.float64)
