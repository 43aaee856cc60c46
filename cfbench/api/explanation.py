"""What a search for one case found: in words, as a table, and for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cfbench.outcome import Status
from cfbench.space import FeatureSpace, FeatureSpec, FloatArray, Kind

if TYPE_CHECKING:
    import pandas as pd

    from cfbench.analysis.hazards import Hazards


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
    gower : float
        Gower's distance of `z` from `x`; NaN without a counterfactual.
    objective_value : float
        What the search minimised: the loss and the objective's term, as the judge computed it; NaN without a
        counterfactual.
    figures : mapping of str to float
        What the searcher reported, such as ``lower_bound`` and ``proven``.
    queries : int
        Rows asked of the model, by the searcher and by its objective.
    candidates : ndarray of float64, shape (k, d)
        All that the searcher returned.
    seconds : float
        Wall-clock time of the search.
    searcher : str
        Name and settings.
    space : FeatureSpace
    objective : str
        Name and settings.
    constraints : bool
        Whether the plausibility constraints held.
    hazards : Hazards or None
        What the annotated perturbations can do to `z`; None without a counterfactual, or where it was not looked at.
    about : mapping of str to object
        Where the case comes from, for programs; empty for a user's own.
    heading : tuple of str
        The same for readers, a line each.
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
    hazards: Hazards | None = None
    objective_value: float = math.nan
    figures: Mapping[str, float] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    heading: tuple[str, ...] = ()

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

        columns = ["feature", "before", "after", "change", "unit"]
        rows = [row for row in self.features() if row["changed"]]
        return pd.DataFrame([[row[name] for name in columns] for row in rows], columns=columns)

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
                    "before": shown_value(feature, before),
                    "after": shown_value(feature, after),
                    "change": float(after - before) if numerical else float("nan"),
                    "unit": feature.unit,
                    "changed": bool(before != after),
                }
            )
        return rows

    def text(self, width: int = 100) -> str:
        """Return everything in words and tables, plain, of at most `width` columns where the values allow it."""
        from cfbench.api.explanation_text import text_of

        return text_of(self, width)

    def content(self) -> dict[str, Any]:
        """Return everything as what JSON can hold; what is absent is None."""
        from cfbench.api.explanation_content import content_of

        return content_of(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        import html

        from cfbench.api.explanation_text import head, prospects

        before = "<br>".join(html.escape(line) for line in head(self))
        table = self.changes.to_html(index=False) if self.found else ""
        after = "<br>".join(html.escape(line) for line in prospects(self))
        return f"<p>{before}</p>{table}<p>{after}</p>"


def shown_value(feature: FeatureSpec, value: float) -> float | str:
    """Return a number, or a category's label where the value is one."""
    if feature.kind is Kind.CATEGORICAL and value in range(feature.n_categories):
        return feature.categories[int(value)]
    return float(value)


def number_or_none(value: float) -> float | None:
    """Return None in place of what JSON has no number for."""
    return float(value) if math.isfinite(value) else None
