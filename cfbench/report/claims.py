"""What a record says about a claim: a number and its interval, compared with a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cfbench.report.bootstrap import Estimate, estimate
from cfbench.report.names import DATASETS
from cfbench.report.tables import ABSENT, Entry, Table, TableRow, decimal
from cfbench.space import FloatArray

FEWEST = 6
"""Values below which no claim is decided."""

NOT_AT_HAND = "not at hand"
"""Stands for a value of the authors that the paper does not print."""

Samples = Mapping[tuple[str, str], FloatArray]
"""Values by data set and model."""


class Verdict(StrEnum):
    """What a record says about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decidable here"


@dataclass(frozen=True)
class Threshold:
    """Where a number has to lie.

    Parameters
    ----------
    bound : float
    words : {"above", "below", "at least", "at most"}
    """

    bound: float
    words: str

    def verdict(self, found: Estimate | None) -> Verdict:
        """Say on which side an interval lies.

        With "at least" and "at most" the claim holds of every single value: an interval that passes the bound refutes
        it.
        """
        if found is None or found.n < FEWEST:
            return Verdict.OPEN
        up = self.words in ("above", "at least")
        low, high = (found.low, found.high) if up else (-found.high, -found.low)
        edge = self.bound if up else -self.bound
        always = self.words.startswith("at ")
        if low > edge or (always and low >= edge):
            return Verdict.HOLDS
        return Verdict.FAILS if high < edge or (always and low < edge) else Verdict.OPEN

    def __str__(self) -> str:
        return f"{self.words} {self.bound:g}"


@dataclass(frozen=True)
class Local:
    """A claim on one data set, both models: an interval for these points."""

    dataset: str
    verdict: Verdict
    found: Estimate
    authors: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim and what the record says about it.

    Parameters
    ----------
    claim : str
        The paper's, in our words.
    statistic : str
        The number that stands for it, and over what.
    threshold : Threshold
        Where it has to lie.
    verdict : Verdict
    found : Estimate or None
        None where the record has no value.
    remark : str
        What to keep in mind.
    authors : str
        The authors' value under the same computation, or that it is not at hand.
    local : tuple of Local
        The same on each data set, where the claim is about all of them.
    goal : float or None
        The half-width of an interval on one data set that a study should reach.
    """

    claim: str
    statistic: str
    threshold: Threshold
    verdict: Verdict
    found: Estimate | None
    remark: str = ""
    authors: str = NOT_AT_HAND
    local: tuple[Local, ...] = field(default=())
    goal: float | None = None


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

    Parameters
    ----------
    claim, statistic : str
    samples : mapping of (str, str) to ndarray of float64
        Values by data set and model.
    threshold : Threshold
    across : bool
        Whether the claim is about data sets and models in general: the interval then counts on others, and the claim
        is judged on each data set as well.
    remark, authors : str
    local_authors : mapping of str to str, optional
        The authors' values by data set.
    goal : float, optional
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


def claims_table(found: list[Claim]) -> Table:
    """Return the claims as a table."""
    rows = []
    for one in found:
        entries = (
            Entry(one.verdict.value, numbers=_numbers(one.found)),
            *_entries(one.found, None if one.local else one.goal),
        )
        rows.append(TableRow((one.claim, one.statistic), (*entries, Entry(str(one.threshold)), Entry(one.authors))))
    return Table(
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


def local_claims_table(found: list[Claim]) -> Table:
    """Return the claims about data sets in general, on each data set."""
    rows = [
        TableRow(
            (one.claim, DATASETS[here.dataset]),
            (
                Entry(here.verdict.value, numbers=_numbers(here.found)),
                *_entries(here.found, one.goal),
                Entry(str(one.threshold)),
                Entry(here.authors or ABSENT),
            ),
        )
        for one in found
        for here in one.local
    ]
    return Table(
        "claims-by-data-set",
        "The same on each data set",
        "Both models of a data set count alike. The intervals are for the points of these data sets, so they decide "
        "where an interval for data sets in general cannot.",
        ("claim", "data set"),
        ("verdict", "value", "95 % interval", "half-width", "claimed", "the authors"),
        tuple(rows),
    )


def _entries(found: Estimate | None, goal: float | None) -> tuple[Entry, Entry, Entry]:
    if found is None:
        return Entry("no value", "n = 0"), Entry(""), Entry("")
    reached = "" if goal is None else f"goal {goal:g}"
    return (
        Entry(decimal(found.mean, 3), f"n = {found.n}"),
        Entry(interval_text(found)),
        Entry(decimal(found.half_width, 3), reached),
    )


def _numbers(found: Estimate | None) -> dict[str, float | int | None]:
    if found is None:
        return {}
    return {"mean": found.mean, "low": found.low, "high": found.high, "half-width": found.half_width, "n": found.n}
