"""An explanation for a person to read: plain text, fitted to a width."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from cfbench.analysis.hazards import Hazards, Setback
from cfbench.api.explanation import Explanation, shown_value
from cfbench.api.proven_bounds import bounds
from cfbench.harness.obstacles import PLAIN
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.text_table import text_table
from cfbench.random_perturbations import PerturbedPart
from cfbench.space import Constraint

_PARTS = {
    PerturbedPart.C: "what changes, set back",
    PerturbedPart.K: "what is kept, perturbed",
    PerturbedPart.BOTH: "both at once",
}
_CONSTRAINTS = {Constraint.FIXED: "fixed", Constraint.ONLY_UP: "may only grow", Constraint.ONLY_DOWN: "may only shrink"}


def text_of(explanation: Explanation, width: int) -> str:
    """Return all of an explanation as lines of at most `width` columns where its values allow it."""
    lines = [piece for line in head(explanation) for piece in _wrapped(line, width)]
    if explanation.found:
        lines += ["", *_changes(explanation, width), "", *_kept(explanation, width)]
    else:
        lines += ["", "The case:", *_values(explanation.features(), width)]
    after = prospects(explanation)
    if after:
        lines += ["", *(piece for line in after for piece in _wrapped(line, width))]
    return "\n".join(lines)


def head(explanation: Explanation) -> list[str]:
    """Return the first lines: the case, how the search ended, what becomes of the class and at what cost."""
    status = str(explanation.status).replace("_", " ")
    constraints = "on" if explanation.constraints else "off"
    ended = (
        f"{status}: {explanation.searcher}, objective {explanation.objective}, constraints {constraints}: "
        f"{explanation.queries:,} rows asked, {explanation.seconds:.1f} s"
    )
    lines = [*explanation.heading, f"{ended}: {explanation.reason}" if explanation.reason else ended]
    if not explanation.found:
        before, target = _label(explanation.class_before), _label(explanation.target)
        lines.append(f"No counterfactual was found: the class stays {before}, wanted is {target}.")
        return [visible(line) for line in [*lines, *bounds(explanation)]]
    d = explanation.space.d
    changed = sum(row["changed"] for row in explanation.features())
    lines.append(
        f"{_label(explanation.class_before)} becomes {_label(explanation.class_after)} if {changed} of {d} features "
        f"change. Cost {explanation.loss:.3f}, the mean of Gower's distance, {explanation.gower:.3f}, and of the share "
        f"of changed features, {changed / d:.3f}."
    )
    if explanation.objective != PLAIN and not math.isnan(explanation.objective_value):
        lines.append(
            f"Objective value under {explanation.objective}: {explanation.objective_value:.3f}, the cost and what the "
            "objective adds."
        )
    return [visible(line) for line in [*lines, *bounds(explanation)]]


def prospects(explanation: Explanation) -> list[str]:
    """Return what perturbations can do to the counterfactual, a sentence each; none where it was not looked at."""
    hazards = explanation.hazards
    if hazards is None:
        return []
    lines = []
    if hazards.setback is not None:
        lines.append(_setback(explanation, hazards.setback))
    shares = [f"{_PARTS[one.part]}, {_share(one.survived, one.n)}" for one in hazards.survivals]
    if shares:
        lines.append(f"Random perturbations after which the class is the same: {'; '.join(shares)}.")
    lines += [*_threats(explanation, hazards), *hazards.certain]
    return [visible(line) for line in lines]


def _changes(explanation: Explanation, width: int) -> list[str]:
    rows = []
    for feature, row in zip(explanation.space.features, explanation.features(), strict=True):
        if row["changed"]:
            step = "" if isinstance(row["after"], str) else f"{row['change']:+.6g}"
            limit = _CONSTRAINTS.get(feature.constraint, "") if explanation.constraints else ""
            rows.append([row["feature"], _written(row["before"]), _written(row["after"]), step, row["unit"], limit])
    header = ["feature", "now", "then", "change", "unit", "constraint"]
    return ["To change:", *_table(header, rows, width)]


def _kept(explanation: Explanation, width: int) -> list[str]:
    kept = [row for row in explanation.features() if not row["changed"]]
    if not kept:
        return ["Nothing is kept."]
    return ["To keep:", *_values(kept, width, _losses(explanation))]


def _values(rows: list[dict[str, Any]], width: int, losses: dict[str, str] | None = None) -> list[str]:
    """Lay out the values of features; beside them, where any was looked at, how often each alone loses the class."""
    told = losses or {}
    rows = sorted(rows, key=lambda row: list(told).index(row["feature"]) if row["feature"] in told else len(told))
    lines = [[row["feature"], _written(row["before"]), row["unit"], told.get(row["feature"], "")] for row in rows]
    return _table(["feature", "now", "unit", "perturbed alone"], lines, width)


def _table(header: list[str], rows: list[list[str]], width: int) -> list[str]:
    """Lay out a table without the columns that hold nothing."""
    filled = [place for place in range(len(header)) if any(row[place] for row in rows)]
    shown = [[visible(row[place]) for place in filled] for row in rows]
    return text_table([header[place] for place in filled], shown, width)


def _losses(explanation: Explanation) -> dict[str, str]:
    if explanation.hazards is None:
        return {}
    names = explanation.space.names
    return {names[one.feature]: f"class lost in {_share(one.lost, one.n)}" for one in explanation.hazards.threats}


def _threats(explanation: Explanation, hazards: Hazards) -> list[str]:
    if not hazards.threats:
        return []
    names = explanation.space.names
    worst = [f"{names[one.feature]} ({_share(one.lost, one.n)})" for one in hazards.threats if one.lost][:3]
    if not worst:
        return ["No kept feature loses the class in any of its draws when it alone is perturbed."]
    return [f"Kept features that threaten it most, with the draws that lose the class: {', '.join(worst)}."]


def _setback(explanation: Explanation, setback: Setback) -> str:
    assert explanation.z is not None
    space = explanation.space
    pushed = []
    for i in setback.moved.nonzero()[0]:
        feature = space.features[i]
        unit = f" {feature.unit}" if feature.unit else ""
        pushed.append(
            f"{feature.name} back by {abs(setback.moved[i]):g} to {explanation.z[i] + setback.moved[i]:g}{unit}"
        )
    for place in setback.turned:
        label = shown_value(space.features[place], explanation.z[place])
        pushed.append(f"{space.names[place]} turned from {label} into another category")
    if setback.ways == 0:
        after = "its class was not looked at, since the categories may turn in too many ways"
    elif setback.ways == 1:
        after = "it loses the class" if setback.undone else "it keeps the class"
    else:
        after = f"it loses the class in {setback.undone} of the {setback.ways} ways in which the categories may turn"
    return (
        f"Worst setback: {', '.join(pushed)}: {after}. To walk that way again costs {setback.price:.3f} more, "
        f"{explanation.loss + setback.price:.3f} in all."
    )


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _share(k: int, n: int) -> str:
    return f"{k:,} of {n:,}"


def _label(label: object) -> str:
    return repr(label)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) or [""]
