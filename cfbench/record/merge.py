"""Merging records: what the shards of a study, or several machines, have searched becomes one record.

The sources are only read. All of a merge is one transaction: it is there in whole, or the target is as it was. A cell
is taken over whole or not at all; a cell whose records disagree is named and left as it is in the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from cfbench.errors import RecordError
from cfbench.record.cells import CellSummary, model_of, objection_to
from cfbench.record.files import DATABASE_NAME
from cfbench.record.measures import metric_of
from cfbench.record.reading import RecordReading
from cfbench.record.schema import TIME_COLUMNS, Row, SearchId, sorted_text
from cfbench.record.store import Record

SHOWN = 3
"""Differing searches, or folds, that a message names."""


@dataclass
class MergeReport:
    """What a merge did."""

    cells: int = 0  # of the sources
    searches: int = 0  # that the target did not have
    added: int = 0  # cells that the target did not have
    grown: int = 0  # cells that the target had in part
    same: int = 0  # cells that the target had already
    waiting: int = 0  # cells whose searches are not all in, in any source: their study goes on with them
    unmeasured: int = 0  # cells with measures that do not count any more, since the cell has grown
    kept_by_clock: int = 0  # searches that ended by the clock in one place and differently in another
    conflicts: list[str] = field(default_factory=list)  # cells that were left as they were in the target, and why
    damage: list[str] = field(default_factory=list)  # what of the sources cannot be read and was left out

    @property
    def complete(self) -> bool:
        """Whether all that the sources hold is in the target."""
        return not self.conflicts and not self.damage


def merge_records(
    sources: Sequence[Path],
    target: Path,
    *,
    mixed_models: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MergeReport:
    """Add all cells of `sources`, packed records too, to the record `target`, which is created if there is none.

    Of a search that several hold, the target's row is kept, else the first source's; they must agree in everything but
    times. `mixed_models` says whether searches on differently fitted models of one fold may be in one record.
    `progress` is given the number of cells done, and of all. RecordError, before anything is written: a source is no
    record of this version or is the target itself, models of one fold differ, or there is nothing in any source.
    """
    opened = {path.resolve(): Record.open(path) for path in sources}
    if target.resolve() in opened:
        raise RecordError(f"{target} is to be merged into itself: leave it out, or name another directory")
    summaries = {one: one.summaries() for one in opened.values()}
    models = FoldModels()
    if (target / DATABASE_NAME).exists():
        with Record.open(target) as there:
            models.add(target, there.summaries())
    for one, found in summaries.items():
        models.add(one.path, found)
    if not mixed_models:
        models.refuse_mixed()
    keys = sorted({key for one, found in summaries.items() for key in (*found, *one.pending())})
    if not keys and not any(one.problems for one in summaries):
        names = ", ".join(str(one.path) for one in summaries)
        raise RecordError(
            f"there is nothing to merge in {names}: no search has ended there yet; `cfbench run` makes some"
        )
    report = MergeReport(cells=len(keys))
    with Record.open(target, write=True) as record, record.transaction():
        for done, key in enumerate(keys):
            if progress is not None:
                progress(done, len(keys))
            union = Union(key, record)
            for source in summaries:
                union.add(source)
            union.write(report, None if mixed_models else models)
            if not union.conflicts:
                report.conflicts += _take_measures(key, record, list(summaries))
                report.unmeasured += not union.measured <= record.measured_of(key)
        for one in summaries:
            record.add_machines(one.machines())
            report.damage += [f"{problem} (left out of the merge)" for problem in one.problems]
            one.close()
    return report


def _take_measures(key: str, record: Record, sources: Sequence[RecordReading]) -> list[str]:
    """Add what other records have measured of a cell; return what disagrees, which stays as it was.

    Only measures of the very searches that `record` holds count: a metric may look at all searches of a cell, and those
    of times belong to one run.
    """
    conflicts: list[str] = []
    mark = record.mark(key)
    for source in sources:
        cell = source.cell_of(key).cell if mark and source.mark(key) == mark else None
        if cell is None:
            continue
        theirs = {metric_of(row): row for row in source.measure_rows(cell)}
        ours = {metric_of(row): row for row in record.measure_rows(cell)}
        record.write_measure_rows(theirs[one] for one in theirs.keys() - ours.keys())
        differ = sorted({one[0] for one in theirs.keys() & ours.keys() if _differing(theirs[one], ours[one])})
        if differ:
            info = cell.info
            conflicts.append(
                f"cell {key} ({info.dataset}, {info.model}, {info.searcher}): {source.path} measures "
                f"{', '.join(differ)} differently; the values that were there are kept"
            )
    return conflicts


class Union:
    """A cell from a record and from those that are merged into it; what they hold twice must agree.

    `rows` has all its searches, `done` those of a finished cell (`known` those of the one in `record`), and `new` those
    that `record` lacks, with the place that they come from.
    """

    def __init__(self, key: str, record: Record) -> None:
        recorded = record.cell_of(key)
        self.key = key
        self.record = record
        self.cell = recorded.cell
        self.rows: dict[SearchId, Row] = recorded.finished | recorded.waiting
        self.done = set(recorded.finished)
        self.known = frozenset(self.done)
        self.preparation = record.preparation(key)
        self.before = bool(self.cell or self.rows)
        self.measured = record.measured_of(key)
        self.new: dict[SearchId, Path] = {}
        self.kept_by_clock = 0
        self.conflicts: list[str] = []

    def add(self, source: RecordReading) -> None:
        """Add what another record holds of the cell."""
        recorded = source.cell_of(self.key)
        theirs = recorded.cell
        self.preparation = self.preparation or source.preparation(self.key)
        if theirs is not None and theirs.mark and self.cell is not None and self.cell.mark:
            if sorted_text(self.cell.content) != sorted_text(theirs.content):
                self._object(f"{source.path} holds it with other settings under the same key: one of them was altered")
                return
            if self.cell.eligible != theirs.eligible:
                counts = f"{theirs.eligible} eligible points, {self.cell.eligible} are elsewhere"
                self._object(f"{source.path} holds {counts}: the models differ")
                return
        if self.cell is None or (theirs is not None and theirs.mark and not self.cell.mark):
            self.cell = theirs
        rows = recorded.finished | recorded.waiting
        differing = {}
        for search, row in rows.items():
            known = self.rows.setdefault(search, row)
            if known is row:
                self.new[search] = source.path
            elif columns := _differing(known, row):
                if "timed_out" in (known["status"], row["status"]):
                    self.kept_by_clock += 1
                else:
                    differing[search] = columns
        self.done |= recorded.finished.keys()
        if differing:
            first, more = min(differing), len(differing) - SHOWN
            named = ", ".join(f"point {point} repetition {rep}" for point, rep in sorted(differing)[:SHOWN])
            self._object(
                f"{self.new.get(first, self.record.path)} and {source.path} hold different results of the same "
                f"searches ({named}{f' and {more} more' if more > 0 else ''}); the first differ in "
                f"{', '.join(differing[first])}. One of them comes from other code or another machine's arithmetic: "
                "keep the one that you trust"
            )

    def _object(self, conflict: str) -> None:
        self.conflicts.append(f"cell {self.key}: {conflict}")

    def write(self, report: MergeReport, models: FoldModels | None) -> None:
        """Write the cell into the record, unless there are conflicts, and count it in the report."""
        key, cell, record = self.key, self.cell, self.record
        objection = "" if cell is None else objection_to(key, cell.info, cell.content)
        if objection:
            self._object(f"{objection}, so it was altered")
        if models is not None and models.are_mixed({row["model_fingerprint"] for row in self.rows.values()}, cell):
            self._object("its searches are on differently fitted models; --mixed-models allows it")
        report.conflicts += self.conflicts
        if self.conflicts or not (cell or self.rows):
            return  # without either, all of it is damaged, which the report names
        waiting = self.rows.keys() - self.done
        if cell is not None and self.done != self.known:
            record.adopt(cell.info, cell.content, cell.eligible, [self.rows[search] for search in sorted(self.done)])
        elif cell is not None and not cell.mark and not self.before:
            (record.fail if cell.failure else record.skip)(cell.info, cell.content, cell.failure or cell.skipped)
        record.append_all(self.rows[search] for search in sorted(waiting))
        if self.preparation is not None:
            record.note_preparation(key, self.preparation)
        report.searches += len(self.new)
        report.kept_by_clock += self.kept_by_clock
        report.waiting += bool(waiting)
        report.added += not self.before
        report.grown += self.before and bool(self.new)
        report.same += self.before and not self.new


def _differing(one: Row, other: Row) -> list[str]:
    """Return the columns in which two rows differ, except times; as text, in which NaN equals NaN."""
    return [name for name in one if name not in TIME_COLUMNS and sorted_text(one[name]) != sorted_text(other[name])]


class FoldModels:
    """The fitted models of each fold, as the summaries of several records name them."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Path]] = {}
        self._names: dict[str, str] = {}

    def add(self, path: Path, summaries: Mapping[str, CellSummary]) -> None:
        """Take note of the models that the cells of a record were searched on."""
        for summary in summaries.values():
            fold, info = model_of(summary.content), summary.info
            self._names[fold] = f"{info.dataset}, {info.model}, fold {info.fold}"
            for fingerprint in summary.fingerprints:
                self._found.setdefault(fold, {}).setdefault(fingerprint, path)

    def are_mixed(self, fingerprints: AbstractSet[str], cell: CellSummary | None) -> bool:
        """Return whether searches of a cell are on several models, or on one that no summary of their fold names."""
        known = fingerprints if cell is None else self._found.get(model_of(cell.content), {}).keys()
        return len(fingerprints) > 1 or not fingerprints <= known

    def refuse_mixed(self) -> None:
        """Raise RecordError if searches are on differently fitted models of one fold; it names the folds."""
        mixed = [fold for fold, fingerprints in self._found.items() if len(fingerprints) > 1]
        if not mixed:
            return
        listing = ""
        for fold in mixed[:SHOWN]:
            models = ", ".join(f"{one[:12]} in {path}" for one, path in sorted(self._found[fold].items()))
            listing += f"\n  {self._names[fold]}: {models}"
        more = f"\n  and {len(mixed) - SHOWN} more" if len(mixed) > SHOWN else ""
        raise RecordError(
            f"the searches are on differently fitted models of {len(mixed)} fold(s), so they are no results of one "
            f"study:{listing}{more}\nHave the machines share their fitted models (`cfbench fit`, CFBENCH_CACHE_DIR) "
            "and run the smaller part again; or merge with --mixed-models, and every board will carry a warning"
        )
