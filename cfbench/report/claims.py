"""What a record says about a claim: a number and its interval, held against a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cfbench.report.bootstrap import Estimate, estimate
from cfbench.report.tables import Entry, Table, TableRow, decimal
from cfbench.space import FloatArray

FEWEST = 6
"""Values below which no claim is decided."""

Samples = Mapping[Any, FloatArray]
"""Values by data set and model."""


class Verdict(StrEnum):
    """What a record says about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decidable here"


@dataclass(frozen=True)
class Claim:
    """A claim and what the record says about it.

    Parameters
    ----------
    claim : str
        The paper's, in our words.
    statistic : str
        The number that stands for it, and over what.
    threshold : str
        Where it has to lie, as people read it.
    verdict : Verdict
    found : Estimate or None
        None where the record has no value.
    remark : str
        What to keep in mind.
    """

    claim: str
    statistic: str
    threshold: str
    verdict: Verdict
    found: Estimate | None
    remark: str = ""


def judged(
    claim: str,
    statistic: str,
    samples: Samples,
    *,
    above: float | None = None,
    below: float | None = None,
    at_least: float | None = None,
    across: bool = False,
    remark: str = "",
) -> Claim:
    """Hold an estimate against its threshold.

    A claim holds where the whole 95 % interval lies on its side of the threshold, does not hold where it lies on the
    other, and is not decidable otherwise, or with fewer than six values.

    Parameters
    ----------
    claim, statistic : str
    samples : mapping to ndarray of float64
        Values by data set and model.
    above, below, at_least : float, optional
        The threshold; one of them.
    across : bool
        Whether the claim is about data sets and models in general: the interval then counts on others.
    remark : str
    """
    found = estimate(samples, resample_strata=across)
    bound = next(value for value in (above, below, at_least) if value is not None)
    words = "above" if above is not None else "below" if below is not None else "at least"
    verdict = Verdict.OPEN
    if found is not None and found.n >= FEWEST:
        low, high = (found.low, found.high) if below is None else (-found.high, -found.low)
        edge = bound if below is None else -bound
        if low > edge or (at_least is not None and low >= edge):
            verdict = Verdict.HOLDS
        elif high < edge or (at_least is not None and found.low < edge):
            verdict = Verdict.FAILS
    return Claim(claim, statistic, f"{words} {bound:g}", verdict, found, remark)


def claims_table(found: list[Claim]) -> Table:
    """Return the claims as a table."""
    rows = []
    for one in found:
        value = "no value" if one.found is None else decimal(one.found.mean, 3)
        interval = "" if one.found is None else f"{decimal(one.found.low, 3)} to {decimal(one.found.high, 3)}"
        n = "n = 0" if one.found is None else f"n = {one.found.n}"
        numbers = {} if one.found is None else {"mean": one.found.mean, "low": one.found.low, "high": one.found.high}
        entries = (Entry(one.verdict.value, numbers=numbers), Entry(value, n), Entry(interval), Entry(one.threshold))
        rows.append(TableRow((one.claim, one.statistic), entries))
    return Table(
        "claims",
        "The paper's claims",
        "A claim holds where the whole 95 % interval (2,000 bootstraps, seeded) lies on its side of the threshold, "
        "does not hold where it lies on the other side, and is not decidable otherwise or with fewer than six values.",
        ("claim", "what stands for it"),
        ("verdict", "value", "95 % interval", "claimed"),
        tuple(rows),
        tuple(f"{one.claim}: {one.remark}" for one in found if one.remark),
    )
