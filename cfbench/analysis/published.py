"""The published record that comes with cfbench, and a record read together with it: nothing is copied."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import cfbench
from cfbench.digests import digest_of
from cfbench.errors import RecordError, UnavailableError
from cfbench.record.cells import CELLS, CellSummary
from cfbench.record.database import Database, create_tables, temporary_database
from cfbench.record.files import PACKED_NAME
from cfbench.record.measures import judged_objective
from cfbench.record.reading import RecordReading
from cfbench.record.schema import MEASURES, SEARCHES, MetricId
from cfbench.record.store import Record
from cfbench.text import plural


def published_record() -> Path:
    """Return the folder of the packed record behind the published leaderboard.

    Raises UnavailableError if this installation came without it.
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

    Raises RecordError if there is none, or nothing in it can be compared with the published one. Raises
    UnavailableError if this installation came without the published one.
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

    Raises RecordError if nothing of `own` fits.
    """

    def __init__(self, own: RecordReading, published: RecordReading) -> None:
        theirs = published.summaries()
        fitting, left_out = _fitting(own.summaries(), theirs, own.measured())
        if not fitting:
            raise RecordError(
                f"nothing in {own.path} can be compared with the published record: {listed(left_out)}. "
                + (_OTHER_ORDER_HINT if set(left_out) == {OTHER_ORDER} else _SAME_TASKS_HINT)
            )
        self.yours = frozenset(
            k for k, cell in fitting.items() if k not in theirs or cell.searches > theirs[k].searches
        )
        """Keys of the cells that are taken from `own`."""
        self._sides = (own, published)
        connection = temporary_database()
        create_tables(connection)
        for table in (CELLS, SEARCHES, MEASURES):
            for side in (own, published):
                rows = (values for values in side.scan(table) if (values[0] in self.yours) == (side is own))
                connection.executemany(table.insert, rows)
        super().__init__(own.path, Database(connection, own.path), is_packed=own.is_packed)
        self.problems = [*published.problems, *own.problems]
        if left_out:
            self.problems.append(f"left out next to the published record: {listed(left_out)}")

    def machines(self) -> list[dict[str, str]]:
        """Return the machines of the own record."""
        return self._sides[0].machines()

    def notes(self) -> dict[str, str]:
        """Return the facts that are noted about both records; those of the own record win."""
        own, published = self._sides
        return published.notes() | own.notes()

    def machines_apart(self) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """Return the machines of the own record, and those of the published one."""
        return self._sides[0].machines(), self._sides[1].machines()

    def close(self) -> None:
        """Close both records, and what was made of them."""
        super().close()
        for side in self._sides:
            side.close()


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
