"""What a search for a user's own case found, in words and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfbench.outcome import Status
from cfbench.space import FeatureSpace, FeatureSpec, FloatArray, Kind

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Explanation:
    """A counterfactual of `x`, or why there is none.

    Parameters
    ----------
    x : ndarray of float64, shape (d,)
    z : ndarray of float64, shape (d,), or None
        The counterfactual. What an ``invalid`` search answered is here, too, where it was a vector.
    status : Status
        How the search ended, as the harness judged it.
    reason : str
        Why, in one sentence; empty where the status says it all.
    class_before, class_after : object
        The model's classes of `x` and of `z`, as the model names them; None without `z`.
    target : object
        The class wanted.
    loss : float
        Half of Gower's distance plus half of the share of changed features; NaN without a counterfactual.
    queries : int
        Rows asked of the model, by the searcher and by its objective.
    candidates : ndarray of float64, shape (k, d)
        All that the searcher returned.
    seconds : float
        Wall-clock time of the search.
    searcher : str
        Name and settings.
    space : FeatureSpace
    """

    x: FloatArray
    z: FloatArray | None
    status: Status
    reason: str
    class_before: object
    class_after: object
    target: object
    loss: float
    queries: int
    candidates: FloatArray
    seconds: float
    searcher: str
    space: FeatureSpace

    @property
    def found(self) -> bool:
        """Whether `z` is a plausible point of the target class."""
        return self.z is not None and self.status in (Status.FOUND, Status.BUDGET_EXHAUSTED)

    @property
    def changes(self) -> pd.DataFrame:
        """What has to change: a row for each changed feature, with `feature`, `before`, `after`, `change`, `unit`.

        Categories are given by their labels and have no number as their change.
        """
        import pandas as pd

        return pd.DataFrame(self._changes(), columns=["feature", "before", "after", "change", "unit"])

    def __str__(self) -> str:
        status = str(self.status).replace("_", " ")
        head = f"{status}: {self.searcher}, {self.queries:,} rows asked, {self.seconds:.1f} s"
        lines = [f"{head}: {self.reason}" if self.reason else head]
        if self.found:
            changes = self._changes()
            lines.append(
                f"{self.class_before!r} becomes {self.class_after!r} if {len(changes)} of {self.space.d} features "
                f"change (loss {self.loss:.3f}):"
            )
            width = max(len(change["feature"]) for change in changes)
            lines += [f"  {change['feature']:<{width}}  {_shown(change)}" for change in changes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        lines = str(self).splitlines()
        table = self.changes.to_html(index=False) if self.found else ""
        return f"<p>{'<br>'.join(html.escape(line) for line in lines[:2])}</p>{table}"

    def _changes(self) -> list[dict[str, Any]]:
        if self.z is None:
            return []
        rows = []
        for feature, before, after in zip(self.space.features, self.x, self.z, strict=True):
            if before == after:
                continue
            numerical = feature.kind is Kind.NUMERICAL
            rows.append(
                {
                    "feature": feature.name,
                    "before": _value(feature, before),
                    "after": _value(feature, after),
                    "change": float(after - before) if numerical else float("nan"),
                    "unit": feature.unit,
                }
            )
        return rows


def _value(feature: FeatureSpec, value: float) -> float | str:
    """Return a number, or a category's label where the value is one."""
    if feature.kind is Kind.CATEGORICAL and value in range(feature.n_categories):
        return feature.categories[int(value)]
    return float(value)


def _shown(change: dict[str, Any]) -> str:
    if isinstance(change["after"], str):
        return f"{change['before']} -> {change['after']}"
    unit = f" {change['unit']}" if change["unit"] else ""
    return f"{change['before']:g} -> {change['after']:g}{unit}  ({change['change']:+g})"
