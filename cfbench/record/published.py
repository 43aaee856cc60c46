"""The published record that comes with cfbench, and a record read together with it: nothing is copied."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cfbench
from cfbench.digests import digest_of
from cfbench.errors import RecordError, UnavailableError
from cfbench.record.cells import CellSummary, Outline, StoredCell
from cfbench.record.files import PACKED_NAME
from cfbench.record.measures import PointValues, judged_objective
from cfbench.record.reading import Held, RecordReading
from cfbench.record.schema import MetricId, Row, SearchId
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.text import plural

if TYPE_CHECKING:
    import pandas as pd

    from cfbench.space.space import FloatArray


def published_record() -> Path:
    """Return the folder of the packed record behind the published leaderboard.

    Raises
    ------
    UnavailableError
        If this installation came without it.
    """
    package = Path(cfbench.__file__).parent
    for folder in (package / "published", package.parent / "leaderboard" / "record"):
        if (folder / PACKED_NAME).is_file():
            return folder
    raise UnavailableError(
        "this installation came without the published record; install a released wheel, or work in a checkout, "
        "whose leaderboard/record holds it"
    )


def opened_record(results: Path, *, with_published: bool = False) -> RecordReading:
    """Open a record for reading, alone or next to the published one.

    Raises
    ------
    RecordError
        If there is none, or nothing in it can be compared with the published one.
    UnavailableError
        If this installation came without the published one.
    """
    own = Record.open(results)
    return CombinedRecord(own, Record.open(published_record())) if with_published else own


NAMED = 3
"""Names that the warning lists for each reason; the others are counted."""
OWN = ("searcher", "seed", "query_budget", "time_limit")
"""What of a cell's content is the searcher's; everything else, except the fold, is the task that it is given."""


OTHER_ORDER = "whose points were taken in another order, by another version of cfbench"
"""Why cells of another order of points cannot be compared."""
_OTHER_ORDER_HINT = (
    "The published record was made by an earlier version, whose points stand in the order of the table. It can be "
    "compared with new searches once it is published again. Until then, run the searchers to compare with "
    "into the same record"
)
_SAME_TASKS_HINT = "The same tasks are run by `cfbench run --preset standard --searcher NAME`"


class CombinedRecord(RecordReading):
    """Two records as one, for reading.

    Of a cell that both have, the one with more searches is taken; the published one if they have the same number.

    Parameters
    ----------
    own : RecordReading
        What does not fit is left out.
    published : RecordReading

    Raises
    ------
    RecordError
        If nothing of `own` fits.
    """

    def __init__(self, own: RecordReading, published: RecordReading) -> None:
        self.path = self.origin = own.path
        self.is_packed = own.is_packed
        self._sides = (own, published)
        theirs = published.summaries()
        fitting, left_out = _fitting(own.summaries(), theirs, own.measured())
        if not fitting:
            raise RecordError(
                f"nothing in {own.path} can be compared with the published record: {listed(left_out)}. "
                + (_OTHER_ORDER_HINT if set(left_out) == {OTHER_ORDER} else _SAME_TASKS_HINT)
            )
        mine = {key for key, cell in fitting.items() if key not in theirs or cell.searches > theirs[key].searches}
        self._summaries = theirs | {key: fitting[key] for key in sorted(mine)}
        self._owner: dict[str, RecordReading] = {key: own if key in mine else published for key in self._summaries}
        self.yours = frozenset(mine)
        """Keys of the cells that are taken from `own`."""
        self.problems = [*published.problems, *own.problems]
        if left_out:
            self.problems.append(f"left out next to the published record: {listed(left_out)}")

    def keys(self) -> set[str]:
        """Return the keys of the cells of both."""
        return set(self._owner)

    def summaries(self) -> dict[str, CellSummary]:
        """Return the summaries of the cells of both."""
        return dict(self._summaries)

    def outlines(self) -> Iterator[tuple[CellInfo, float, Outline]]:
        """Yield the outlines of the cells of both."""
        for side in self._sides:
            yield from (one for one in side.outlines() if self._owner.get(one[0].key) is side)

    def pending(self) -> set[str]:
        """Return the keys of the cells with waiting searches."""
        return {key for side in self._sides for key in side.pending() if self._owner.get(key) is side}

    def done(self, key: str) -> dict[SearchId, str]:
        """Return the searches of a cell with their statuses."""
        return self._owner[key].done(key)

    def rows(self, key: str) -> list[Row]:
        """Return the searches of a cell."""
        return self._owner[key].rows(key)

    def held(self, key: str) -> Held:
        """Return what is held of a cell."""
        return self._owner[key].held(key)

    def mark(self, key: str) -> str:
        """Return the mark of a cell's finished searches."""
        return self._owner[key].mark(key)

    def measures(self, key: str) -> pd.DataFrame:
        """Return what metrics say about a cell."""
        return self._owner[key].measures(key)

    def measure_rows(self, cell: StoredCell) -> list[Row]:
        """Return what metrics say about a cell, one row per metric."""
        return self._owner[cell.summary.info.key].measure_rows(cell)

    def measured(self) -> Mapping[str, AbstractSet[MetricId]]:
        """Return what was measured of each cell."""
        return {
            key: found for side in self._sides for key, found in side.measured().items() if self._owner.get(key) is side
        }

    def point_values(self) -> PointValues:
        """Return what was measured of the points' results."""
        return _Values([(side, side.point_values()) for side in self._sides], self._owner)

    def machines(self) -> list[dict[str, str]]:
        """Return the machines of the own record."""
        return self._sides[0].machines()

    def machines_apart(self) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """Return the machines of the own record, and those of the published one."""
        return self._sides[0].machines(), self._sides[1].machines()

    def close(self) -> None:
        """Close both records."""
        for side in self._sides:
            side.close()


class _Values(PointValues):
    """The values of two records, each cell's from the one that it is taken from."""

    def __init__(self, sides: list[tuple[RecordReading, PointValues]], owner: Mapping[str, RecordReading]) -> None:
        self._sides = sides
        self._owner = owner

    @property
    def metrics(self) -> set[MetricId]:
        """Everything that was measured in any cell."""
        return {metric for _, values in self._sides for metric in values.metrics}

    def of(self, metric: MetricId) -> dict[str, FloatArray]:
        """Return a metric's values by cell key."""
        return {
            key: found
            for side, values in self._sides
            for key, found in values.of(metric).items()
            if self._owner.get(key) is side
        }


def listed(left_out: Mapping[str, Counter[str]]) -> str:
    """Return which cells are left out, why, and how many."""
    cases = []
    for reason, names in left_out.items():
        first, rest = sorted(names)[:NAMED], len(names) - NAMED
        named = f"{'; '.join(first)}{f'; and {rest} more' if rest > 0 else ''}"
        cases.append(f"{plural(names.total(), 'cell')} {reason} ({named})")
    return "; ".join(cases) or "it has no finished cell"


def _fitting(
    own: Mapping[str, CellSummary],
    published: Mapping[str, CellSummary],
    measured: Mapping[str, AbstractSet[MetricId]],
) -> tuple[dict[str, CellSummary], dict[str, Counter[str]]]:
    tasks = {_task(cell.content) for cell in published.values()}
    drawn_anyhow = {_task({**cell.content, "points": None}) for cell in published.values()}
    tables = {cell.info.dataset: cell.content["dataset"]["digest"] for cell in published.values()}
    models: dict[tuple[str, str, int], set[str]] = {}
    for cell in published.values():
        models.setdefault(_model(cell), set()).update(cell.fingerprints)
    fitting = {}
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    for key, cell in own.items():
        known = models.get(_model(cell), set())
        if tables.get(cell.info.dataset, "") != cell.content["dataset"]["digest"]:
            same = cell.info.dataset in tables
            reason = "of another table or annotation" if same else "of data sets that are not on it"
            left_out[reason][cell.info.dataset] += 1
        elif tasks.isdisjoint(_tasks(cell, measured.get(key, ()))):
            reason = "of tasks (model, objective, constraints, fold, steps) that are not on it"
            if _task({**cell.content, "points": None}) in drawn_anyhow:
                reason = OTHER_ORDER
            info = cell.info
            switch = "on" if info.constraints else "off"
            task = f"{info.dataset}, {info.model}, objective {info.objective}, constraints {switch}, fold {info.fold}"
            left_out[reason][task] += 1
        elif known and not known.issuperset(cell.fingerprints):
            reason = "that queried a model which was fitted differently (other versions, another processor)"
            left_out[reason][f"{cell.info.dataset}, {cell.info.model}, fold {cell.info.fold}"] += 1
        else:
            fitting[key] = cell
    return fitting, left_out


def _tasks(cell: CellSummary, measured: Iterable[MetricId]) -> Iterator[str]:
    """Yield the task of a cell, and those whose objective its results were judged under."""
    yield _task(cell.content)
    for objective in filter(None, map(judged_objective, measured)):
        yield _task({**cell.content, "objective": objective})


def _task(content: Mapping[str, Any]) -> str:
    return digest_of({name: value for name, value in content.items() if name not in OWN})


def _model(cell: CellSummary) -> tuple[str, str, int]:
    return cell.info.dataset, cell.info.model, cell.info.fold
