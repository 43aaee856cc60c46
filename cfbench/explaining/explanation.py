"""An explanation: what was searched and found for one case, as data and as text."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.board.counterfactuals import FEATURE_COLUMNS, feature_rows
from cfbench.board.text import text_table
from cfbench.digests import digest_of
from cfbench.explaining.perturbation_effects import (
    PerturbationEffects,
    Setback,
    perturbation_effects,
    written,
)
from cfbench.problem.outcome import Status
from cfbench.record.cells import Preparation
from cfbench.robustness.random_perturbations import PerturbedPart
from cfbench.space.space import Constraint, FeatureSpace, FloatArray, IntArray, Kind
from cfbench.study.obstacles import PLAIN
from cfbench.text import distinct_texts, visible

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from cfbench.study.plan import Cell

SLACK = 1e-9
"""Relative tolerance for a result below a bound: sums of costs are rounded."""

_PARTS = {
    PerturbedPart.C: "what changes, set back",
    PerturbedPart.K: "what is kept, perturbed",
    PerturbedPart.BOTH: "both at once",
}
_CONSTRAINTS = {Constraint.FIXED: "fixed", Constraint.ONLY_UP: "may only grow", Constraint.ONLY_DOWN: "may only shrink"}
_64_BITS = 0xFFFF_FFFF_FFFF_FFFF


def bounds(explanation: Explanation) -> list[str]:
    """Return a sentence about what the figures ``lower_bound`` and ``proven`` mean for a result.

    It is empty if the searcher reports neither. Of what it claims, a bound above the judge's own value for the
    result is known to be wrong, and said to be.
    """
    by, lower = explanation.searcher, explanation.figures.get("lower_bound", math.nan)
    what = "cheaper" if explanation.objective == "none" else "of a lower objective value"
    least = f"{'costs' if explanation.objective == 'none' else 'has an objective value of'} less than {lower:.4g}"
    if not explanation.found:
        return [f"Lower bound by {by}: no counterfactual {least}."] if lower > 0 else []
    value = explanation.objective_value
    if lower > value * (1 + SLACK):
        return [f"{by} reports a lower bound of {lower:.4g}, above the result's own value: the bound is wrong."]
    if explanation.figures.get("proven") == 1:
        return [f"Proven by {by}: no counterfactual is {what}."]
    if not lower > 0:
        return [] if math.isnan(lower) else [f"Not proven by {by}: there may be counterfactuals that are {what}."]
    return [
        f"Not proven to be the optimum, but within {(value - lower) / lower:.2%} of it: no counterfactual {least}, the "
        f"lower bound of {by}."
    ]


def head(explanation: Explanation) -> list[str]:
    """Return the first lines: the case, how the search ended, the new class and the cost."""
    status = str(explanation.status).replace("_", " ")
    constraints = "on" if explanation.constraints else "off"
    prepared = (
        ""
        if explanation.prepare_queries is None
        else f" (and {explanation.prepare_queries:,} queries, {explanation.prepare_seconds:.1f} s in its preparation)"
    )
    ended = (
        f"{status}: {explanation.searcher}, objective {explanation.objective}, constraints {constraints}: "
        f"{explanation.queries:,} queries, {explanation.seconds:.1f} s{prepared}"
    )
    lines = [*explanation.heading, f"{ended}: {explanation.reason}" if explanation.reason else ended]
    if not explanation.found:
        lines.append(
            f"No counterfactual was found: the class stays {explanation.class_before!r}, "
            f"the target is {explanation.target!r}."
        )
        return [visible(line) for line in [*lines, *bounds(explanation)]]
    d = explanation.space.d
    changed = sum(row["changed"] for row in explanation.features())
    lines.append(
        f"{explanation.class_before!r} becomes {explanation.class_after!r} if {changed} of {d} features "
        f"change. Loss {explanation.loss:.3f}, the mean of Gower's distance, {explanation.gower:.3f}, and of the share "
        f"of changed features, {changed / d:.3f}."
    )
    if explanation.objective != PLAIN and not math.isnan(explanation.objective_value):
        lines.append(
            f"Objective value under {explanation.objective}: {explanation.objective_value:.3f}, the loss and the "
            "objective's term."
        )
    return [visible(line) for line in [*lines, *bounds(explanation)]]


def effect_sentences(explanation: Explanation) -> list[str]:
    """Return sentences about what perturbations can do to the counterfactual; none if they were not examined."""
    effects = explanation.perturbations
    if effects is None:
        return []
    lines = []
    if effects.setback is not None:
        lines.append(_setback(explanation, effects.setback))
    shares = [f"{_PARTS[one.part]}, {_share(one.survived, one.n)}" for one in effects.survivals]
    if shares:
        lines.append(f"Random perturbations after which the class is the same: {'; '.join(shares)}.")
    if effects.kept:
        names = explanation.space.names
        worst = [f"{names[one.feature]} ({_share(one.lost, one.n)})" for one in effects.kept if one.lost][:3]
        lines.append(
            f"Kept features that threaten it most, with the draws that lose the class: {', '.join(worst)}."
            if worst
            else "No kept feature loses the class in any of its draws when it alone is perturbed."
        )
    return [visible(line) for line in [*lines, *effects.certain]]


def _changes(explanation: Explanation, width: int) -> list[str]:
    rows = []
    assert explanation.z is not None
    for feature, before, after in zip(explanation.space.features, explanation.x, explanation.z, strict=True):
        if before != after:
            numerical = feature.kind is Kind.NUMERICAL
            step = f"{'+' if after > before else ''}{distinct_texts(after - before)[0]}" if numerical else ""
            limit = _CONSTRAINTS.get(feature.constraint, "") if explanation.constraints else ""
            rows.append([feature.name, *written(feature, before, after), step, feature.unit, limit])
    header = ["feature", "now", "then", "change", "unit", "constraint"]
    return ["To change:", *_table(header, rows, width)]


def _kept(explanation: Explanation, width: int) -> list[str]:
    kept = [row["feature"] for row in explanation.features() if not row["changed"]]
    if not kept:
        return ["Nothing is kept."]
    effects = () if explanation.perturbations is None else explanation.perturbations.kept
    names = explanation.space.names
    losses = {names[one.feature]: f"class lost in {_share(one.lost, one.n)}" for one in effects}
    order = [*losses, *names]
    return ["To keep:", *_values(explanation, sorted(kept, key=order.index), width, losses)]


def _values(explanation: Explanation, names: Sequence[str], width: int, losses: Mapping[str, str]) -> list[str]:
    """Return lines with the values of features and, if examined, how often each feature alone loses the class."""
    space, lines = explanation.space, []
    for name in names:
        place = space.names.index(name)
        feature = space.features[place]
        lines.append([name, *written(feature, explanation.x[place]), feature.unit, losses.get(name, "")])
    return _table(["feature", "now", "unit", "perturbed alone"], lines, width)


def _table(header: list[str], rows: list[list[str]], width: int) -> list[str]:
    """Format a table without its empty columns."""
    filled = [place for place in range(len(header)) if any(row[place] for row in rows)]
    shown = [[visible(row[place]) for place in filled] for row in rows]
    return text_table([header[place] for place in filled], shown, width)


def _setback(explanation: Explanation, setback: Setback) -> str:
    assert explanation.z is not None
    space = explanation.space
    pushed = []
    for i in setback.moved.nonzero()[0]:
        feature = space.features[i]
        unit = f" {feature.unit}" if feature.unit else ""
        _, back = written(feature, explanation.z[i], explanation.z[i] + setback.moved[i])
        pushed.append(f"{feature.name} back by {distinct_texts(abs(setback.moved[i]))[0]} to {back}{unit}")
    for place in setback.turned:
        label = space.features[place].shown(explanation.z[place])
        pushed.append(f"{space.names[place]} turned from {label} into another category")
    if setback.ways == 0:
        after = "its class is unknown, because the categories can change in too many ways"
    elif setback.ways == 1:
        after = "it loses the class" if setback.undone else "it keeps the class"
    else:
        after = f"it loses the class in {setback.undone} of the {setback.ways} ways in which the categories may turn"
    return (
        f"Worst setback: {', '.join(pushed)}: {after}. Repeating the change adds {setback.price:.3f}, "
        f"{explanation.loss + setback.price:.3f} in all."
    )


def _share(k: int, n: int) -> str:
    return f"{k:,} of {n:,}"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _effects_content(explanation: Explanation) -> dict[str, Any] | None:
    space, effects = explanation.space, explanation.perturbations
    if effects is None:
        return None
    worst, setback = None, effects.setback
    if setback is not None:
        assert explanation.z is not None
        back = explanation.z + setback.moved
        worst = {
            "to": {space.names[i]: space.features[i].shown(back[i]) for i in setback.moved.nonzero()[0]},
            "turned": [space.names[i] for i in setback.turned],
            "price": setback.price,
            "cost_with_it": number_or_none(explanation.loss + setback.price),
            "ways": setback.ways,
            "ways_that_lose_the_class": setback.undone,
        }
    return {
        "worst_setback": worst,
        "survived": {one.part.value: {"survived": one.survived, "n": one.n} for one in effects.survivals},
        "threats": [
            {"feature": space.names[one.feature], "class_changes": one.lost, "n": one.n} for one in effects.kept
        ],
        "certain": list(effects.certain),
    }


def _plain(label: object) -> object:
    return label if label is None or isinstance(label, (str, bool, int, float)) else str(label)


@dataclass(frozen=True, eq=False)
class Explanation:
    """A counterfactual of `x`, or why there is none.

    Parameters
    ----------
    x : ndarray of float64, shape (d,)
    z : ndarray of float64, shape (d,), or None
        The counterfactual. For an ``invalid`` search, its result if it was a vector.
    status : Status
        How the search ended, as the harness judged it.
    reason : str
        One-sentence reason; empty if the status suffices.
    class_before, class_after : object
        The model's classes of `x` and of `z`, as the model names them; None without `z`.
    target : object
        The class wanted.
    loss : float
        Half of Gower's distance plus half of the share of changed features; NaN without a counterfactual.
    gower : float
        Gower's distance of `z` from `x`; NaN without a counterfactual.
    objective_value : float
        What the search minimised: the loss and the objective's term, as the judge computed it; NaN without a
        counterfactual.
    figures : mapping of str to float
        What the searcher reported, such as ``lower_bound`` and ``proven``.
    queries : int
        Queries of the model, by the searcher and by its objective.
    candidates : ndarray of float64, shape (k, d)
        All that the searcher returned.
    seconds : float
        Wall-clock time of the search.
    prepare_queries : int or None
        Queries of the searcher's preparation; None if it prepares nothing, or if that is not known.
    prepare_seconds : float
        Wall-clock time of the preparation; NaN if there was none.
    searcher : str
        Name and settings.
    space : FeatureSpace
    objective : str
        Name and settings.
    constraints : bool
        Whether the constraints held.
    perturbations : PerturbationEffects or None
        What the annotated perturbations do to `z`; None without a counterfactual, or if it was not examined.
    about : mapping of str to object
        Where the case comes from, for programs; empty for a user's own.
    heading : tuple of str
        The same for readers, a line each.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import FeatureSpace, FeatureSpec, Kind, explain
    >>> explanation = explain(
    ...     [20],
    ...     model=lambda Z: (Z[:, 0] > 50).astype(int),
    ...     space=FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),)),
    ...     target=1,
    ...     searcher="nearest-unlike",
    ...     training=(np.array([[20.0], [60.0], [90.0]]), np.array([0, 1, 1])),
    ... )
    >>> explanation.changes[["feature", "before", "after"]].values.tolist()
    [['income', 20.0, 60.0]]
    >>> explanation.class_before, explanation.class_after
    (0, 1)
    """

    x: FloatArray
    z: FloatArray | None
    status: Status
    reason: str
    class_before: object
    class_after: object
    target: object
    loss: float
    gower: float
    queries: int
    candidates: FloatArray
    seconds: float
    searcher: str
    space: FeatureSpace
    objective: str = "none"
    constraints: bool = False
    perturbations: PerturbationEffects | None = None
    objective_value: float = math.nan
    figures: Mapping[str, float] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    heading: tuple[str, ...] = ()
    prepare_queries: int | None = None
    prepare_seconds: float = math.nan

    @property
    def found(self) -> bool:
        """Return whether `z` is a feasible point of the target class."""
        return self.z is not None and self.status in (Status.FOUND, Status.BUDGET_EXHAUSTED)

    @property
    def changes(self) -> pd.DataFrame:
        """What has to change: a row for each changed feature, with `feature`, `before`, `after`, `change`, `unit`.

        Categories are given by their labels and have no number as their change.
        """
        import pandas as pd

        columns = ["feature", "before", "after", "change", "unit"]
        rows = [row for row in self.features() if row["changed"]]
        return pd.DataFrame([[row[name] for name in columns] for row in rows], columns=columns)

    def counterfactuals(self) -> pd.DataFrame:
        """Return the counterfactual as a frame: a row for each feature, none if nothing was found.

        The columns are those of `StudyResult.counterfactuals` that one case has: `searcher`, `target`, `feature`,
        `factual`, `counterfactual`, `changed`, `unit`, `loss` and `objective_value`. Where the space annotates
        perturbations, `survived_c`, `survived_k` and `survived_ck` are the shares of random perturbations (of what
        changes, of what is kept, of both) after which the class is the same. `survived_alone` is this share for a kept
        feature that alone is perturbed.
        """
        import pandas as pd

        columns = ["searcher", "target", *FEATURE_COLUMNS, "loss", "objective_value"]
        if self.z is None or not self.found:
            return pd.DataFrame(columns=columns)
        whole = {
            "searcher": self.searcher,
            "target": self.target,
            "loss": self.loss,
            "objective_value": self.objective_value,
        }
        rows = [whole | row for row in feature_rows(self.space, self.x, self.z)]
        frame = pd.DataFrame(rows, columns=columns)
        if self.perturbations is not None:
            for one in self.perturbations.survivals:
                frame[f"survived_{one.part}"] = one.survived / one.n
            alone = {self.space.names[one.feature]: 1 - one.lost / one.n for one in self.perturbations.kept}
            frame["survived_alone"] = frame["feature"].map(alone)
        return frame

    def plot(self) -> NDArray[np.object_]:
        """Draw the counterfactual with matplotlib.

        The first panel has a bar for each changed feature, with its value before and after. If the perturbations of
        kept features were examined, a second panel shows how often each of them alone loses the class.

        Returns
        -------
        ndarray of matplotlib.axes.Axes, shape (1,) or (2,)
            ``axes[0].figure.savefig("explanation.png")`` writes the picture.

        Raises
        ------
        CfbenchError
            If no counterfactual was found.
        """
        from cfbench.explaining.plot import plot_explanation  # loads matplotlib

        return plot_explanation(self)

    def features(self) -> list[dict[str, Any]]:
        """Return every feature with its values, in the space's order, as `changes` has them.

        `after` is `before`, and `changed` false, where there is no `z`.
        """
        z = self.x if self.z is None else self.z
        rows = []
        for feature, before, after in zip(self.space.features, self.x, z, strict=True):
            numerical = feature.kind is Kind.NUMERICAL
            rows.append(
                {
                    "feature": feature.name,
                    "before": feature.shown(before),
                    "after": feature.shown(after),
                    "change": float(after - before) if numerical else float("nan"),
                    "unit": feature.unit,
                    "changed": bool(before != after),
                }
            )
        return rows

    def text(self, width: int = 100) -> str:
        """Return everything as plain text of at most `width` columns if the values allow it."""
        lines = [piece for line in head(self) for piece in _wrapped(line, width)]
        if self.found:
            lines += ["", *_changes(self, width), "", *_kept(self, width)]
        else:
            lines += ["", "The case:", *_values(self, self.space.names, width, {})]
        after = effect_sentences(self)
        if after:
            lines += ["", *(piece for line in after for piece in _wrapped(line, width))]
        return "\n".join(lines)

    def content(self) -> dict[str, Any]:
        """Return everything in JSON-like form; missing values are None."""
        features = self.features()
        return {
            "case": dict(self.about) or None,
            "searcher": self.searcher,
            "objective": self.objective,
            "constraints": self.constraints,
            "found": self.found,
            "status": self.status.value,
            "reason": self.reason,
            "class_before": _plain(self.class_before),
            "class_after": _plain(self.class_after),
            "target": _plain(self.target),
            "loss": number_or_none(self.loss),
            "gower": number_or_none(self.gower),
            "objective_value": number_or_none(self.objective_value),
            "figures": {name: number_or_none(value) for name, value in sorted(self.figures.items())},
            "changed": sum(row["changed"] for row in features) if self.found else None,
            "features": [
                {key: number_or_none(value) if isinstance(value, float) else value for key, value in row.items()}
                for row in features
            ],
            "queries": self.queries,
            "seconds": self.seconds,
            "prepare_queries": self.prepare_queries,
            "prepare_seconds": number_or_none(self.prepare_seconds),
            "perturbations": _effects_content(self),
        }

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        before = "<br>".join(html.escape(line) for line in head(self))
        table = self.changes.to_html(index=False) if self.found else ""
        after = "<br>".join(html.escape(line) for line in effect_sentences(self))
        return f"<p>{before}</p>{table}<p>{after}</p>"


def explanation_of(
    row: Mapping[str, Any],
    cell: Cell,
    space: FeatureSpace,
    target: int,
    labels: Sequence[object],
    predict: Callable[[FloatArray], IntArray],
    *,
    draws: int,
    about: Mapping[str, Any] | None = None,
    heading: Sequence[str] = (),
    model: object | None = None,
    preparation: Preparation | None = None,
) -> Explanation:
    """Return the explanation of a search's row, with what perturbations do to its result.

    `labels` are the classes by code, as readers know them. `draws` random perturbations are counted; 0: none. With the
    fitted `model`, more can be proven if it shows its trees or weights. `preparation` is that of the search, if there
    was one.
    """
    x = np.asarray(row["x"], dtype=np.float64)
    z = None if row["z"] is None else np.asarray(row["z"], dtype=np.float64)
    after = None
    if z is not None and space.is_feasible(z[np.newaxis], x, constraints=False)[0]:  # no model need know other values
        after = labels[int(predict(z[np.newaxis])[0])]
    # A row that comes from a data frame has NaN where a search's own has None.
    numbers = {
        name: math.nan if row[name] is None else float(row[name]) for name in ("loss", "gower", "objective_value")
    }
    effects = None
    if z is not None and draws and not math.isnan(numbers["loss"]):
        # One stream per case: the results of all searchers for it meet the same draws.
        stream = int(digest_of(["explain", cell.seed, cell.content["dataset"]["name"], int(row["row_id"])]), 16)
        effects = perturbation_effects(x, z, space, target, predict, stream & _64_BITS, draws, model)
    return Explanation(
        x=x,
        z=z,
        status=Status(row["status"]),
        reason=row["reason"],
        class_before=labels[int(predict(x[np.newaxis])[0])],
        class_after=after,
        target=labels[target],
        figures=dict(row["figures"]),
        queries=int(row["search_queries"]) + int(row["robustness_queries"]),
        candidates=np.array(row["candidates"], dtype=np.float64).reshape(-1, space.d),
        seconds=float(row["wall_seconds"]),
        searcher=cell.searcher.label,
        space=space,
        objective=cell.objective.label,
        constraints=cell.constraints,
        perturbations=effects,
        about=about or {},
        heading=tuple(heading),
        prepare_queries=None if preparation is None else preparation.queries,
        prepare_seconds=math.nan if preparation is None else preparation.seconds,
        **numbers,
    )


def number_or_none(value: float) -> float | None:
    """Return None instead of a number that JSON cannot express."""
    return float(value) if math.isfinite(value) else None
