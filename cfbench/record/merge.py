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

    cells: int = 0
    """Cells of the sources."""
    searches: int = 0
    """Searches that the target did not have."""
    added: int = 0
    """Cells that the target did not have."""
    grown: int = 0
    """Cells that the target had in part."""
    same: int = 0
    """Cells that the target had already."""
    waiting: int = 0
    """Cells whose searches are not all in, in any source: their study goes on with them."""
    unmeasured: int = 0
    """Cells with measures that do not count any more, since the cell has grown."""
    kept_by_clock: int = 0
    """Searches that ended by the clock in one place and differently in another; the first one is kept."""
    conflicts: list[str] = field(default_factory=list)
    """Cells that were left as they were in the target, and why."""
    damage: list[str] = field(default_factory=list)
    """What of the sources cannot be read and was left out."""

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
    """Add all cells of `sources` to the record `target`, which is created if there is none.

    Parameters
    ----------
    sources : sequence of Path
        Records, packed ones too. Of a search that several hold, the target's row is kept, else the first source's; they
        must agree in everything but times.
    target : Path
    mixed_models : bool
        Whether searches on differently fitted models of one fold may be in one record.
    progress : callable, optional
        Is given the number of cells done, and of all.

    Raises
    ------
    RecordError
        Before anything is written: if a source is no record of this version or is the target itself, if models of one
        fold differ and `mixed_models` is not set, or if there is nothing in any source.
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
            _merge_cell(Union(key, record, list(summaries)), record, report, None if mixed_models else models)
        for one in summaries:
            record.add_machines(one.machines())
            report.damage += [f"{problem} (left out of the merge)" for problem in one.problems]
            one.close()
    return report


def _merge_cell(union: Union, record: Record, report: MergeReport, models: FoldModels | None) -> None:
    key, cell = union.key, union.cell
    objection = "" if cell is None else objection_to(key, cell.info, cell.content)
    if objection:
        union.conflicts.append(f"cell {key}: {objection}, so it was altered")
    fingerprints = {row["model_fingerprint"] for row in union.rows.values()}
    if models is not None and models.are_mixed(fingerprints, cell):
        union.conflicts.append(f"cell {key}: its searches are on differently fitted models; --mixed-models allows it")
    if union.conflicts or not (cell or union.rows):
        report.conflicts += union.conflicts
        return  # without either, all of it is damaged, which the report names
    measured = record.measured().get(key, set())
    if cell is not None and union.done and union.grown:
        finished = [row for search, row in union.rows.items() if search in union.done]
        record.adopt(cell.info, cell.content, cell.eligible, finished, keep_waiting=True)
    elif cell is not None and not cell.mark and not union.before:
        (record.fail if cell.failure else record.skip)(cell.info, cell.content, cell.failure or cell.skipped)
    waiting = union.rows.keys() - union.done
    record.append_all(union.rows[search] for search in sorted(waiting & union.new.keys()))
    report.conflicts += _take_measures(key, record, union.sources)
    report.unmeasured += not measured <= record.measured().get(key, set())
    report.searches += len(union.new)
    report.kept_by_clock += union.kept_by_clock
    report.waiting += bool(waiting)
    report.added += not union.before
    report.grown += union.before and bool(union.new)
    report.same += union.before and not union.new


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
        record.write_measure_rows(key, [theirs[one] for one in sorted(theirs.keys() - ours.keys())])
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

    Attributes
    ----------
    cell : CellSummary or None
        Coordinates, content and eligible points; None if no record has the cell.
    rows : dict of (int, int) to dict
        All searches; `done` are those of a finished cell.
    new : dict of (int, int) to Path
        Searches that the record does not have, and where they come from.
    before : bool
        Whether the record had the cell.
    grown : bool
        Whether searches of the finished cell are new.
    conflicts : list of str
    """

    def __init__(self, key: str, record: Record, sources: Sequence[RecordReading]) -> None:
        recorded = record.cell_of(key)
        self.key = key
        self.path = record.path
        self.sources = sources
        self.cell = recorded.cell
        self.rows: dict[SearchId, Row] = recorded.finished | recorded.waiting
        self.done = set(recorded.finished)
        self.before = bool(self.cell or self.rows)
        self.new: dict[SearchId, Path] = {}
        self.grown = False
        self.kept_by_clock = 0
        self.conflicts: list[str] = []
        for source in sources:
            self._add(source)

    def _add(self, source: RecordReading) -> None:
        recorded = source.cell_of(self.key)
        theirs = recorded.cell
        if theirs is not None and theirs.mark and self.cell is not None and self.cell.mark:
            if sorted_text(self.cell.content) != sorted_text(theirs.content):
                why = "it with other settings under the same key: one of them was altered"
            elif self.cell.eligible != theirs.eligible:
                why = f"{theirs.eligible} eligible points, {self.cell.eligible} are elsewhere: the models differ"
            else:
                why = ""
            if why:
                self.conflicts.append(f"cell {self.key}: {source.path} holds {why}")
                return
        if self.cell is None or (theirs is not None and theirs.mark and not self.cell.mark):
            self.cell = theirs
        different: list[SearchId] = []
        for search, row in (recorded.finished | recorded.waiting).items():
            known = self.rows.setdefault(search, row)
            if known is row:
                self.new[search] = source.path
            elif _differing(known, row) and "timed_out" in (known["status"], row["status"]):
                self.kept_by_clock += 1
            elif _differing(known, row):
                different.append(search)
        self.grown |= not recorded.finished.keys() <= self.done
        self.done |= recorded.finished.keys()
        if different:
            first, more = different[0], len(different) - SHOWN
            named = ", ".join(f"point {point} repetition {repetition}" for point, repetition in different[:SHOWN])
            columns = _differing(self.rows[first], (recorded.finished | recorded.waiting)[first])
            self.conflicts.append(
                f"cell {self.key}: {self.new.get(first, self.path)} and {source.path} hold different results of the "
                f"same searches ({named}{f' and {more} more' if more > 0 else ''}); the first differ in "
                f"{', '.join(columns)}. One of them comes from other code or another machine's arithmetic: keep the "
                "one that you trust"
            )


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
        listing = "".join(
            f"\n  {self._names[fold]}: "
            + ", ".join(f"{one[:12]} in {path}" for one, path in sorted(self._found[fold].items()))
            for fold in mixed[:SHOWN]
        )
        more = f"\n  and {len(mixed) - SHOWN} more" if len(mixed) > SHOWN else ""
        raise RecordError(
            f"the searches are on differently fitted models of {len(mixed)} fold(s), so they are no results of one "
            f"study:{listing}{more}\nHave the machines share their fitted models (`cfbench fit`, CFBENCH_CACHE_DIR) "
            "and run the smaller part again; or merge with --mixed-models, and every board will carry a warning"
        )
