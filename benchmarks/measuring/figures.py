"""Figures, printed beside their goals and written to ``benchmarks/results/``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from cfbench.running.session import this_machine

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Parameters
    ----------
    what, where : str
        What was measured, on which model.
    value : float
    unit : str
        "x" for ratios.
    at_least, aim : float or None
        Goals; larger is better for ratios, smaller for everything else.
    """

    what: str
    where: str
    value: float
    unit: str = "x"
    at_least: float | None = None
    aim: float | None = None

    def meets(self, goal: float) -> bool:
        """Whether the value is as good as `goal`."""
        return self.value >= goal if self.unit == "x" else self.value <= goal

    def line(self) -> str:
        """Return the figure as a line of text, with its goals and whether it meets them."""
        bound = "at least" if self.unit == "x" else "at most"
        goals = [
            f"{word} {goal:g}: {'met' if self.meets(goal) else 'MISSED'}"
            for word, goal in ((bound, self.at_least), ("aim", self.aim))
            if goal is not None
        ]
        return f"{self.what:<52}{self.where:<28}{self.value:>9.3g} {self.unit:<3}  {', '.join(goals)}".rstrip()


def report(name: str, figures: Iterable[Figure]) -> None:
    """Print figures as they come, and write them to ``results/NAME.json`` with versions and machine."""
    shown = []
    machine = this_machine()
    sys.stdout.write(", ".join(f"{key} {value}" for key, value in machine.items()) + "\n")
    for figure in figures:
        sys.stdout.write(figure.line() + "\n")
        sys.stdout.flush()
        shown.append(asdict(figure))
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine, "figures": shown}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
