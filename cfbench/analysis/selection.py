"""Which cells of a record a board shows, and how it is divided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cfbench.analysis.groups import Group, bare_name
from cfbench.counts import plural
from cfbench.errors import CfbenchError, RecordError, UnknownNameError
from cfbench.events import CellInfo
from cfbench.harness.store.summary import CellSummary


class GroupBy(StrEnum):
    """What the board is divided by; each part has ranks of its own."""

    NOTHING = ""
    DATASET = "dataset"
    MODEL = "model"
    OBJECTIVE = "objective"
    CONSTRAINTS = "constraints"
    TASK = "task"

    def of(self, group: Group) -> str:
        """Return the title of the part that a group belongs to."""
        task = group.task
        titles = {
            GroupBy.NOTHING: "",
            GroupBy.DATASET: f"data set {task.dataset}",
            GroupBy.MODEL: f"model {task.model}",
            GroupBy.OBJECTIVE: f"objective {task.objective}",
            GroupBy.CONSTRAINTS: f"constraints {'on' if task.constraints else 'off'}",
            GroupBy.TASK: str(task),
        }
        return titles[self]


@dataclass(frozen=True)
class Selection:
    """Which cells of a record are shown: labels or names to keep, everything where empty.

    Parameters
    ----------
    datasets, models, objectives, searchers : collection of str
    constraints : bool or None
        None: both.
    protocol : str
        A version of the benchmark's protocol, to tell apart what must not be mixed; empty: the record has one alone.
    """

    datasets: Collection[str] = ()
    models: Collection[str] = ()
    objectives: Collection[str] = ()
    constraints: bool | None = None
    protocol: str = ""
    searchers: Collection[str] = ()

    def of(self, summaries: Iterable[CellSummary]) -> list[CellSummary]:
        """Return the cells that are shown.

        Raises
        ------
        UnknownNameError
            If something to keep is not in the record.
        RecordError
            If it is there, but not together with the rest of the selection; if the cells that are left are of several
            versions of the protocol.
        """
        every = kept = list(summaries)
        kept = _only(kept, every, "data set", self.datasets, lambda info: info.dataset)
        kept = _only(kept, every, "model", self.models, lambda info: info.model)
        kept = _only(kept, every, "objective", self.objectives, lambda info: info.objective)
        if self.constraints is not None:
            wanted = "on" if self.constraints else "off"
            kept = _only(kept, every, "constraints", [wanted], lambda info: "on" if info.constraints else "off")
        kept = _only(kept, every, "searcher", self.searchers, lambda info: info.searcher)
        return _of_one_protocol(kept, self.protocol)


def protocol_of(cell: CellSummary) -> str:
    """Return the version of the protocol that a cell was searched under; empty where it does not say."""
    version = cell.content.get("protocol", cell.info.versions.get("protocol", ""))
    return str(version)


def _of_one_protocol(cells: list[CellSummary], wanted: str) -> list[CellSummary]:
    versions: dict[str, int] = {}
    for cell in cells:
        versions[protocol_of(cell)] = versions.get(protocol_of(cell), 0) + 1
    if wanted:
        if wanted not in versions:
            raise UnknownNameError("protocol version of these cells", wanted, versions)
        return [cell for cell in cells if protocol_of(cell) == wanted]
    if len(versions) > 1:
        held = ", ".join(
            f"version {version or 'unknown'}: {plural(count, 'cell')}" for version, count in sorted(versions.items())
        )
        one = next(version for version in sorted(versions, reverse=True) if version)
        raise RecordError(
            f"these cells were searched under several versions of the benchmark's protocol ({held}), and results of "
            f"different versions are never compared. With `--protocol {one}`, `cfbench leaderboard` and "
            "`cfbench compare` show those of one version"
        )
    return cells


def _only(
    cells: list[CellSummary],
    every: list[CellSummary],
    kind: str,
    wanted: Collection[str],
    label_of: Callable[[CellInfo], str],
) -> list[CellSummary]:
    """Keep the cells of some labels; `every` is the whole record, `cells` what is left of it."""
    if not wanted:
        return cells
    labels = {label_of(cell.info) for cell in cells}
    kept = set()
    for name in wanted:
        matching = {label for label in labels if name in (label, bare_name(label))}
        if not matching:
            raise _absent(name, kind, {label_of(cell.info) for cell in every}, labels)
        kept |= matching
    return [cell for cell in cells if label_of(cell.info) in kept]


def _absent(name: str, kind: str, in_record: set[str], left: set[str]) -> CfbenchError:
    """Tell what the record lacks from what it has elsewhere alone."""
    if not any(name in (label, bare_name(label)) for label in in_record):
        return UnknownNameError(f"{kind} of this record", name, in_record)
    there = ", ".join(sorted(left)) or "none"
    return RecordError(
        f"the record has {kind} {name!r}, but not together with the rest of this selection, where it has: {there}; "
        "leave out one of the options that narrow the selection"
    )
