"""Merging records: what the shards of a study, or several machines, have searched becomes one record.

The sources are only read. All of a merge is one transaction: it is there in whole, or the target is as it was. A cell
is taken over whole or not at all; a cell whose records disagree is named and left as it is in the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfbench.errors import RecordError
from cfbench.record.cells import CellSummary, StoredCell, model_of, objection_to
from cfbench.record.files import DATABASE_NAME
from cfbench.record.reading import RecordReading
from cfbench.record.schema import TIME_COLUMNS, MetricId, Row, SearchId, sorted_text
from cfbench.record.store import Record

SHOWN = 3
"""Differing searches of a cell that a message names."""
SHOWN_FOLDS = 5


@dataclass
class MergeReport:
    """What a merge did.

    Parameters
    ----------
    cells, searches : int
        Cells of the sources; searches that the target did not have.
    added, grown, same : int
        Cells that the target did not have, that it had in part, that it had already.
    waiting : int
        Cells whose searches are not all in, in any source: their study goes on with them.
    unmeasured : int
        Cells with measures that do not count any more, since the cell has grown.
    kept_by_clock : int
        Searches that ended by the clock in one place and differently in another; the first one is kept.
    conflicts : list of str
        Cells that were left as they were in the target, and why.
    damage : list of str
        What of the sources cannot be read and was left out.
    """

    cells: int = 0
    searches: int = 0
    added: int = 0
    grown: int = 0
    same: int = 0
    waiting: int = 0
    unmeasured: int = 0
    kept_by_clock: int = 0
    conflicts: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all that the sources hold is in the target."""
        return not self.conflicts and not self.damage


@dataclass(frozen=True)
class Source:
    """A record to merge, with what is read of it once.

    Parameters
    ----------
    record : RecordReading
    summaries : dict of str to CellSummary
    pending : set of str
        Keys of the cells with waiting searches.
    measured : mapping of str to set
        What was measured, by cell key.
    """

    record: RecordReading
    summaries: dict[str, CellSummary]
    pending: set[str]
    measured: Mapping[str, AbstractSet[MetricId]]


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
    read = [Source(one, one.summaries(), one.pending(), one.measured()) for one in opened.values()]
    existing: list[tuple[Path, dict[str, CellSummary]]] = []
    if (target / DATABASE_NAME).exists():
        with Record.open(target) as there:
            existing.append((target, there.summaries()))
    models = FoldModels([*existing, *((source.record.path, source.summaries) for source in read)])
    if not mixed_models:
        models.refuse_mixed()
    keys = sorted({key for source in read for key in (*source.summaries, *source.pending)})
    if not keys and not any(source.record.problems for source in read):
        names = ", ".join(str(source.record.path) for source in read)
        raise RecordError(
            f"there is nothing to merge in {names}: no search has ended there yet; `cfbench run` makes some"
        )
    report = MergeReport(cells=len(keys))
    with Record.open(target, write=True) as record, record.transaction():
        before = record.summaries()
        for done, key in enumerate(keys):
            if progress is not None:
                progress(done, len(keys))
            _merge_cell(key, record, before.get(key), read, report, None if mixed_models else models)
        for source in read:
            record.add_machines(source.record.machines())
            report.damage += [f"{problem} (left out of the merge)" for problem in source.record.problems]
    for source in read:
        source.record.close()
    return report


def _merge_cell(
    key: str,
    record: Record,
    before: CellSummary | None,
    sources: Sequence[Source],
    report: MergeReport,
    models: FoldModels | None,
) -> None:
    union = Union(key, record)
    for source in sources:
        if key in source.summaries or key in source.pending:
            union.add(source.record, has_waiting=key in source.pending)
    conflicts = list(union.conflicts)
    content = None if union.cell is None else union.cell.summary.content
    if models is not None and models.are_mixed(union.fingerprints, content):
        conflicts.append(f"cell {key}: its searches are on differently fitted models; --mixed-models lets them in")
    objection = "" if union.cell is None else objection_to(key, union.cell.summary.info, union.cell.summary.content)
    if objection:
        conflicts.append(f"cell {key}: {objection}, so it was altered")
    if conflicts:
        report.conflicts += conflicts
        return
    noted = [source.summaries[key] for source in sources if key in source.summaries]
    if union.cell is None and not (noted or union.waiting):
        return  # all of it is damaged, which the report names
    if union.cell is None or not union.cell.mark:
        _take_note(record, before, noted)
    else:
        one = union.cell.summary
        earlier = record.measured().get(key, set())
        if union.grown:
            record.adopt(one.info, one.content, one.eligible, union.finished.values(), keep_waiting=True)
        report.conflicts += _take_measures(key, record, sources)
        report.unmeasured += not earlier <= record.measured().get(key, set())
    record.append_all(union.waiting_new.values())
    known = before is not None or union.held_before
    report.searches += union.new
    report.kept_by_clock += union.kept_by_clock
    report.waiting += bool(union.waiting)
    report.added += not known
    report.grown += known and bool(union.new)
    report.same += known and not union.new


def _take_note(record: Record, before: CellSummary | None, noted: Sequence[CellSummary]) -> None:
    """Note that a cell without finished searches was skipped or has failed, as the first source says."""
    if before is not None and (before.skipped or before.failure):
        return
    for summary in noted:
        if summary.failure:
            record.fail(summary.info, summary.content, summary.failure)
            return
        if summary.skipped:
            record.skip(summary.info, summary.content, summary.skipped)
            return


def _take_measures(key: str, record: Record, sources: Sequence[Source]) -> list[str]:
    """Add what other records have measured of a cell; return what disagrees, which stays as it was.

    Only measures of the very searches that `record` holds count: a metric may look at all searches of a cell, and those
    of times belong to one run.
    """
    conflicts: list[str] = []
    mark = record.mark(key)
    for source in sources:
        have, theirs = record.measured().get(key, set()), source.measured.get(key, set())
        if not theirs or source.record.mark(key) != mark:
            continue
        cell = source.record.held(key).cell
        rows = {(r["metric"], r["version"], r["settings"]): r for r in source.record.measure_rows(cell)} if cell else {}
        record.write_measure_rows(key, [rows[one] for one in sorted(rows.keys() - have)])
        ours = {(r["metric"], r["version"], r["settings"]): r for r in record.measure_rows(cell)} if cell else {}
        differ = sorted({one[0] for one in rows.keys() & ours.keys() if not _same(rows[one], ours[one], "values")})
        if differ and cell is not None:
            info = cell.summary.info
            conflicts.append(
                f"cell {key} ({info.dataset}, {info.model}, {info.searcher}): {source.record.path} measures "
                f"{', '.join(differ)} differently; the values that were there are kept"
            )
    return conflicts


class Union:
    """A cell's searches from a record and from those that are merged into it; what they hold twice must agree.

    Parameters
    ----------
    key : str
    record : Record
        What it holds comes first.

    Attributes
    ----------
    cell : StoredCell or None
        Coordinates, content and eligible points; None if no record has the cell.
    finished, waiting : dict of (int, int) to dict
        Rows of the finished cell, and those that wait.
    waiting_new : dict of (int, int) to dict
        Waiting ones that the record does not have.
    new : int
        Searches that the record does not have.
    grown : bool
        Whether the finished cell has to be written.
    kept_by_clock : int
    conflicts : list of str
    """

    def __init__(self, key: str, record: Record) -> None:
        held = record.held(key)
        self.key = key
        self.cell: StoredCell | None = held.cell
        self.finished: dict[SearchId, Row] = dict(held.finished)
        self.waiting: dict[SearchId, Row] = dict(held.waiting)
        self.held_before = bool(held.finished) or bool(held.waiting)
        self.waiting_new: dict[SearchId, Row] = {}
        self.new = 0
        self.grown = False
        self.kept_by_clock = 0
        self.conflicts: list[str] = []
        self._marks = {record.mark(key)}
        self._origins: dict[SearchId, Path] = {}
        self._path = record.path

    @property
    def fingerprints(self) -> set[str]:
        """Fingerprints of the fitted models that were searched on."""
        return {row["model_fingerprint"] for rows in (self.finished, self.waiting) for row in rows.values()}

    def add(self, source: RecordReading, *, has_waiting: bool) -> None:
        """Take in what another record holds of the cell."""
        # Searches of the same mark are the same, and need not be read: most cells of a repeated merge are.
        if not has_waiting and source.mark(self.key) in self._marks - {""} and source.is_whole(self.key):
            return
        held = source.held(self.key)
        if held.cell is not None and held.cell.mark:
            theirs = held.cell.summary
            if self.cell is None or not self.cell.mark:
                self.cell, self.grown = held.cell, True
            elif sorted_text(self.cell.summary.content) != sorted_text(theirs.content):
                self.conflicts.append(
                    f"cell {self.key}: {source.path} holds it with other settings under the same key: one of them was "
                    "altered"
                )
                return
            elif self.cell.summary.eligible != theirs.eligible:
                self.conflicts.append(
                    f"cell {self.key}: {source.path} has {theirs.eligible} eligible points, and there are "
                    f"{self.cell.summary.eligible} elsewhere: the models differ"
                )
                return
            self._marks.add(held.cell.mark)
            self._take(held.finished, self.finished, source.path)
        self._take(held.waiting, self.waiting, source.path)

    def _take(self, rows: Mapping[SearchId, Row], into: dict[SearchId, Row], path: Path) -> None:
        different: list[SearchId] = []
        for search, row in rows.items():
            known = self.finished.get(search) or self.waiting.get(search)
            if known is None:
                into[search] = row
                self._origins[search] = path
                self.new += 1
                if into is self.finished:
                    self.grown = True
                else:
                    self.waiting_new[search] = row
            elif not all(_same(known, row, column) for column in row if column not in TIME_COLUMNS):
                if "timed_out" in (known["status"], row["status"]):
                    self.kept_by_clock += 1
                else:
                    different.append(search)
            if into is self.finished and search in self.waiting:
                # Finished elsewhere: the row that is there is finished, too.
                into[search] = self.waiting.pop(search)
                self.waiting_new.pop(search, None)
                self.grown = True
        if different:
            self.conflicts.append(self._difference(different, rows, path))

    def _difference(self, different: list[SearchId], rows: Mapping[SearchId, Row], path: Path) -> str:
        first = different[0]
        known, row = self.finished.get(first) or self.waiting[first], rows[first]
        columns = ", ".join(column for column in row if column not in TIME_COLUMNS and not _same(known, row, column))
        named = ", ".join(f"point {point} repetition {repetition}" for point, repetition in different[:SHOWN])
        more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
        return (
            f"cell {self.key}: {self._origins.get(first, self._path)} and {path} hold different results of the same "
            f"searches ({named}{more}); the first differ in {columns}. One of them comes from other code or another "
            "machine's arithmetic: keep the one that you trust"
        )


def _same(one: Row, other: Row, column: str) -> bool:
    return sorted_text(one[column]) == sorted_text(other[column])  # as text, in which NaN equals NaN


class FoldModels:
    """The fitted models of each fold, as the summaries of several records name them.

    Parameters
    ----------
    records : iterable of (Path, mapping of str to CellSummary)
    """

    def __init__(self, records: Iterable[tuple[Path, Mapping[str, CellSummary]]]) -> None:
        self._found: dict[str, dict[str, Path]] = {}
        self._names: dict[str, str] = {}
        for path, summaries in records:
            for summary in summaries.values():
                fold, info = model_of(summary.content), summary.info
                self._names[fold] = f"{info.dataset}, {info.model}, fold {info.fold}"
                for fingerprint in summary.fingerprints:
                    self._found.setdefault(fold, {}).setdefault(fingerprint, path)

    def are_mixed(self, fingerprints: AbstractSet[str], content: Mapping[str, Any] | None) -> bool:
        """Return whether searches are on several models, or on one that no summary of their fold names.

        Parameters
        ----------
        fingerprints : set of str
            Of the searches of a cell.
        content : mapping or None
            Of the cell; None if it was never finished.
        """
        known = fingerprints if content is None else self._found.get(model_of(content), {}).keys()
        return len(fingerprints) > 1 or not fingerprints <= known

    def refuse_mixed(self) -> None:
        """Raise RecordError if searches are on differently fitted models of one fold; it names the folds."""
        mixed = [fold for fold, fingerprints in self._found.items() if len(fingerprints) > 1]
        if not mixed:
            return
        listing = "".join(
            f"\n  {self._names[fold]}: "
            + ", ".join(f"{one[:12]} in {path}" for one, path in sorted(self._found[fold].items()))
            for fold in mixed[:SHOWN_FOLDS]
        )
        more = f"\n  and {len(mixed) - SHOWN_FOLDS} more" if len(mixed) > SHOWN_FOLDS else ""
        raise RecordError(
            f"the searches are on differently fitted models of {len(mixed)} fold(s), so they are no results of one "
            f"study:{listing}{more}\nHave the machines share their fitted models (`cfbench fit`, CFBENCH_CACHE_DIR) "
            "and run the smaller part again; or merge with --mixed-models, and every board will carry a warning"
        )
