"""Merging records: what the shards of a study, or several machines, have searched becomes one record.

The sources are only read. A cell is taken over whole or not at all, so a merge that was stopped, or that met a
conflict, goes on with the same call; what is there already is compared and left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from cfbench.errors import RecordError
from cfbench.record.coordinates import objection_to
from cfbench.record.machines import add_machines, read_machines
from cfbench.record.merge_measures import take_measures
from cfbench.record.merge_rows import Union
from cfbench.record.model_fingerprints import FoldModels
from cfbench.record.point_values import MetricId
from cfbench.record.record import Record
from cfbench.record.summary import CellSummary


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
    """A record to merge, with what is asked of it for every cell.

    Parameters
    ----------
    record : Record
    summaries : dict of str to CellSummary
    pending : set of str
        Keys of the cells with a journal.
    measured : mapping of str to set
        What was measured, by cell key.
    """

    record: Record
    summaries: dict[str, CellSummary]
    pending: set[str]
    measured: Mapping[str, AbstractSet[MetricId]]

    @classmethod
    def of(cls, record: Record) -> Source:
        """Ask a record once."""
        return cls(record, record.summaries(), record.pending(), record.measured())


def merge_records(
    sources: Sequence[Path],
    target: Path,
    *,
    mixed_models: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MergeReport:
    """Add all cells of `sources` to the record `target`, which is made where there is none.

    Parameters
    ----------
    sources : sequence of Path
        Records, packed ones too. Of a search that several hold, the target's row is kept, else the first source's; they
        must agree in everything but times.
    target : Path
    mixed_models : bool
        Whether searches that asked differently fitted models of one fold may stand side by side.
    progress : callable, optional
        Told how many cells of how many are done.

    Raises
    ------
    RecordError
        Before anything is written: if a source is no record of this version or is the target itself, if models of one
        fold differ and `mixed_models` is not set, or if there is nothing in any source.
    """
    opened = {path.resolve(): Record.open(path) for path in sources}
    if target.resolve() in opened:
        raise RecordError(f"{target} is to be merged into itself: leave it out, or name another directory")
    existing = [Record.open(target)] if (target / "record.json").exists() else []
    models = FoldModels([*existing, *opened.values()])
    if not mixed_models:
        models.refuse_mixed()
    asked = [Source.of(record) for record in opened.values()]
    keys = sorted({key for source in asked for key in (*source.record.keys(), *source.pending)})
    if not keys and not any(source.record.problems for source in asked):
        held = ", ".join(str(source.record.origin) for source in asked)
        raise RecordError(
            f"there is nothing to merge in {held}: no search has ended there yet; `cfbench run` makes some"
        )
    report = MergeReport(cells=len(keys))
    with Record.open(target, write=True) as record:
        before = record.summaries()
        for done, key in enumerate(keys):
            if progress is not None:
                progress(done, len(keys))
            _merge_cell(key, record, before.get(key), asked, report, None if mixed_models else models)
        for source in asked:
            add_machines(record.path, read_machines(source.record.path))
            report.damage += [f"{problem} (left out of the merge)" for problem in source.record.problems]
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
            union.add(source.record, has_journal=key in source.pending)
    conflicts = list(union.conflicts)
    if models is not None and models.are_mixed(union.fingerprints, None if union.stored is None else union.stored[1]):
        conflicts.append(f"cell {key}: its searches asked differently fitted models; --mixed-models lets them in")
    objection = "" if union.stored is None else objection_to(key, union.stored[0], union.stored[1])
    if objection:
        conflicts.append(f"cell {key}: {objection}, so it was altered")
    if conflicts:
        report.conflicts += conflicts
        return
    noted = [source.summaries[key] for source in sources if key in source.summaries]
    if union.stored is None and (any(summary.searches for summary in noted) or not (noted or union.waiting)):
        return  # every table of it is damaged, which the report names
    if union.stored is None:
        _take_note(record, before, noted)
    else:
        info, content, eligible = union.stored
        earlier = record.measured().get(key, set())
        if union.grown:
            record.adopt(info, content, eligible, union.finished.values(), keep_waiting=True)
        report.conflicts += take_measures(info, record, [(one.record, one.measured.get(key, set())) for one in sources])
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
