"""How numbers are written for people, in every rendering alike."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

ABSENT = "-"


def change(ratio: float) -> str:
    """Write a relative change as "+25.0%"; what rounds to nothing has no sign."""
    text = f"{100 * ratio:+,.1f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def whole_change(ratio: float | None) -> str:
    """Write a relative change as "+25%"; one that rounds to nothing as "+0%"."""
    if ratio is None:
        return ABSENT
    return f"{100 * ratio:+,.0f}%".replace("-0%", "+0%") if abs(ratio) < 0.005 else f"{100 * ratio:+,.0f}%"


def fine_change(ratio: float | None) -> str:
    """Write a relative change of which little matters with two digits: "+0.014%", "+1.4%", "+113%"."""
    if ratio is None:
        return ABSENT
    percent = 100 * ratio
    if abs(percent) < 0.0005:  # the rounding of sums
        return "+0%"
    return f"{percent:+,.{min(3, max(0, 1 - floor(log10(abs(percent)))))}f}%"


def decimal(value: float | None) -> str:
    """Write a loss with three decimals."""
    return ABSENT if value is None else f"{value:.3f}"


def decimals(values: Sequence[float | None]) -> int:
    """Return how many decimals a column of metrics takes: two, more where all numbers are small."""
    largest = max((abs(value) for value in values if value is not None), default=1.0)
    return 2 if largest >= 0.2 or largest == 0 else 3 if largest >= 0.02 else 4


def score(value: float | None, digits: int = 2) -> str:
    """Write a metric with so many decimals; without any where it is large."""
    if value is None:
        return ABSENT
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """Write seconds, finer where they are few."""
    if value is None:
        return ABSENT
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}"


def short_seconds(value: float | None) -> str:
    """Write seconds with two decimals, three where two would be zeros."""
    if value is None:
        return ABSENT
    return f"{value:.3f}" if value < 0.01 else f"{value:,.2f}"


def whole(value: float | None) -> str:
    """Write a number of rows."""
    return ABSENT if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    """Write a share as "99.9%"; never 100.0% or 0.0% where it is not."""
    if value is None:
        return ABSENT
    text = f"{100 * value:.1f}%"
    if text == "100.0%" and value < 1:
        return "99.9%"
    return "0.1%" if text == "0.0%" and value > 0 else text
