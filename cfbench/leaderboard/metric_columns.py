"""Columns of metrics, any plugin's."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cfbench.analysis.groups import bare_name
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.standings import Basis, Standing, Standings
from cfbench.harness.variants import parse_variant
from cfbench.leaderboard.numbers import ABSENT, decimals, fine_change, score
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.standing_column import NOT_MEASURED, OWN_SUCCESSES, StandingColumn, span

SHORT = {"k-robustness": ("robust", "K-score")}
"""Headers of metrics that the default table shows."""
IN_PERCENT = ("optimality-gap",)
"""Metrics that are relative changes: people read them in the unit of the loss beside them."""


def column_of_metric(metric: MetricColumn, standings: Standings) -> StandingColumn:
    """Return the column of one of a table's metrics."""
    bare = bare_name(metric.label)
    below = " ".join(part for part in (_settings(metric, standings.metrics), metric.unit, metric.arrow) if part)
    title, unit = SHORT.get(metric.label, (bare, below))
    scores = [row.metrics[metric.label] for row in standings.rows if metric.label in row.metrics]
    ks = sorted({one.k for one in scores})
    digits = decimals([one.value for one in scores])
    counted = f"{span(ks)} of {scores[0].n:,} points" if scores else NOT_MEASURED
    own = f"; {OWN_SUCCESSES}" if standings.basis is Basis.OWN_SUCCESSES else ""

    def written(row: Standing) -> str:
        if metric.label not in row.metrics:
            return ABSENT
        value = row.metrics[metric.label].value
        return fine_change(value) if bare in IN_PERCENT else score(value, digits)

    summary = visible(metric.summary) or "described by no plugin here"
    return StandingColumn(
        metric.label,
        visible(title),
        visible(unit),
        written,
        lambda row: row.metrics[metric.label].value if metric.label in row.metrics else None,
        metric.direction,
        f"{'' if title == bare else f'{bare}: '}{summary}; mean over tasks{own}",
        counted,
        compares=True,
    )


def _settings(metric: MetricColumn, all_metrics: Sequence[MetricColumn]) -> str:
    """Write the settings that tell a metric from others of its name on the board, or from its default."""
    alike = [other.label for other in all_metrics if bare_name(other.label) == bare_name(metric.label)]
    named = {name for label in alike for name in parse_variant(label)[1]}
    return ",".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in json.loads(metric.identity[2]).items()
        if name in named
    )
