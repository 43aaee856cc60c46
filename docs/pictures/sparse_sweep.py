"""Draw what sparse-sweep asks on two features: ``python docs/pictures/sparse_sweep.py`` writes it beside itself."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np

from cfbench import FeatureSpace, FeatureSpec, Kind, Need, Problem, TrainingFold
from cfbench.problem.oracle import Meter
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.candidates import CandidateGrid, QueriedCandidates
from cfbench_searchers.sparse_sweep.searcher import SweepContext, steps
from cfbench_searchers.sparse_sweep.sweeps import sweep

X = np.array([0.12, 0.2])
SIDE, EDGE, LEGEND = 420, 40, 330
STEPS = {
    "sweep": ("#4477aa", "sweep: each feature alone"),
    "revert": ("#228833", "revert: from training rows, back towards x"),
    "smooth": ("#aa3377", "exchange, smooth: along the boundary"),
    "grid of 2 features and 6 levels": ("#999999", "pairs: a grid, as far as it is cheaper"),
}


class Hyperbola:
    """A model whose target class lies beyond a curved boundary that no single feature reaches from `X`."""

    def __init__(self) -> None:
        self.asked: list[FloatArray] = []

    def predict(self, Z: FloatArray) -> IntArray:
        """Say 1 beyond the hyperbola."""
        self.asked.append(Z.copy())
        return (Z[:, 0] * (Z[:, 1] + 0.15) > 0.38).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer nothing: it is a black box."""
        raise NotImplementedError


def asked_by_step() -> tuple[dict[str, FloatArray], FloatArray, int]:
    """Run the steps; return the rows that each asked, the answer, and how many rows that were."""
    space = FeatureSpace(tuple(FeatureSpec(name, Kind.NUMERICAL, 0, 1) for name in ("income", "savings")))
    model, rng = Hyperbola(), np.random.default_rng(4)
    rows = rng.random((60, 2))
    training = TrainingFold(rows, Hyperbola().predict(rows))
    problem = Problem(X, 1, space, Meter(model, 2), needs=[Need.TRAINING_DATA], training=training)
    grid = CandidateGrid(problem, training, 12)
    queried = QueriedCandidates(problem, grid, None, by_value=False)
    asked: dict[str, FloatArray] = {}
    sweep(queried)
    for name in chain(["sweep"], steps(queried, SweepContext(grid, training, 1, 8, 10_000, rng))):
        step = "smooth" if name == "exchange of ends" else name  # an exchange smooths what it finds
        asked[step] = np.concatenate([asked.get(step, np.empty((0, 2))), *model.asked])
        model.asked.clear()
    assert queried.best is not None
    return asked, queried.best.z, queried.asked


def place(z: FloatArray) -> tuple[float, float]:
    """Return where a row lies in the picture."""
    return round(EDGE + SIDE * float(z[0]), 1), round(EDGE + SIDE * (1 - float(z[1])), 1)


def points(rows: FloatArray, colour: str) -> str:
    """Return dots, each place once: lines of no length with round ends."""
    dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in sorted({place(z) for z in rows}))
    return f'<path d="{dots}" stroke="{colour}" stroke-width="4.5" stroke-linecap="round" stroke-opacity="0.75"/>\n'


def picture() -> str:
    """Return the picture as SVG."""
    asked, answer, total = asked_by_step()
    curve = [np.array([a, 0.38 / a - 0.15]) for a in np.linspace(0.38 / 1.15, 1, 60)]
    way = " ".join(f"{a},{b}" for a, b in map(place, [*curve, np.array([1.0, 1.0])]))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE + 2 * EDGE + LEGEND} {SIDE + 2 * EDGE}" '
        'font-family="sans-serif" font-size="13">\n',
        "<title>What sparse-sweep asks on a problem of two features</title>\n",
        f'<rect width="{SIDE + 2 * EDGE + LEGEND}" height="{SIDE + 2 * EDGE}" fill="#ffffff"/>\n',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#444444"/>\n',
        f'<polygon points="{way}" fill="#fff3cf" stroke="#bb9900"/>\n',
    ]
    parts += [points(asked.get(name, np.empty((0, 2))), STEPS[name][0]) for name in reversed(STEPS)]
    for z, label, colour in ((X, "x", "#000000"), (answer, "z", "#cc3311")):
        a, b = place(z)
        parts.append(f'<circle cx="{a}" cy="{b}" r="6" fill="none" stroke="{colour}" stroke-width="2.5"/>\n')
        parts.append(f'<text x="{a - 22}" y="{b - 10}" font-weight="bold" fill="{colour}">{label}</text>\n')
    for line, (name, (colour, label)) in enumerate(STEPS.items()):
        b = EDGE + 20 + 24 * line
        parts.append(f'<circle cx="{SIDE + EDGE + 20}" cy="{b - 4}" r="4" fill="{colour}"/>\n')
        count = len(asked.get(name, ()))
        parts.append(f'<text x="{SIDE + EDGE + 32}" y="{b}">{label} ({count})</text>\n')
    parts.append(
        f'<text x="{SIDE + EDGE + 32}" y="{EDGE + 34 + 24 * len(STEPS)}">rows in brackets; {total:,} in all</text>\n'
    )
    parts.append(f'<text x="{EDGE + SIDE - 110}" y="{EDGE + 24}" fill="#806600">target class</text>\n</svg>\n')
    return "".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("sparse-sweep.svg").write_text(picture(), encoding="utf-8")
