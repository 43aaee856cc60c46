"""What a column of the overall table is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cfbench.analysis.standings import Standing
from cfbench.entries import Direction

NOT_MEASURED = "not measured"
"""What a column of a metric says where the record holds no value of it."""
OWN_SUCCESSES = "each on its own successes, which rewards giving up on hard points: rows are not comparable"


@dataclass(frozen=True)
class StandingColumn:
    """A column.

    Parameters
    ----------
    name : str
        What it is called in ``--columns`` and ``--by``.
    title, unit : str
        The two lines of its header.
    text : callable
        Row in, cell out.
    value : callable
        Row in, number out, for sorting; None where there is none.
    direction : Direction
    legend : str
        What the number is, in one sentence; empty where it says itself.
    counted : str
        What it is counted over in this table, such as "3 of 50 points"; empty where the legend, a cell or the header
        says it.
    compares : bool
        Whether it says something about ranked rows only.
    """

    name: str
    title: str
    unit: str
    text: Callable[[Standing], str]
    value: Callable[[Standing], float | None]
    direction: Direction = Direction.NEUTRAL
    legend: str = ""
    counted: str = ""
    compares: bool = False

    @property
    def arrow(self) -> str:
        """The better direction as a sign."""
        return {Direction.HIGHER: "↑", Direction.LOWER: "↓", Direction.NEUTRAL: ""}[self.direction]


def span(numbers: Sequence[int]) -> str:
    """Write sorted numbers as one, or as the first and the last."""
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,}-{numbers[-1]:,}"
