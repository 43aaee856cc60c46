"""Which cells belong together, and which cells of a record a board shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from cfbench.analysis.loss_alone import JudgedCell
from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, RecordError, UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.registry.events import CellInfo
from cfbench.space.space import FloatArray
from cfbench.text import plural

Point = tuple[int, int]
"""A factual point across cells: (fold, row of the data set)."""


@dataclass(frozen=True, order=True)
class Task:
    """A data set, a model and what is asked of the searchers; labels include variants."""

    dataset: str
    model: str
    objective: str
    constraints: bool

    @property
    def parts(self) -> dict[str, str]:
        """What makes the task, by the names that readers see."""
        return {
            "data set": self.dataset,
            "model": self.model,
            "objective": self.objective,
            "constraints": "on" if self.constraints else "off",
        }

    def __str__(self) -> str:
        parts = self.parts
        return f"{self.dataset}, {self.model}, objective {self.objective}, constraints {parts['constraints']}"


class PointResult(NamedTuple):
    """What the index holds about one point; a tuple, since boards make a hundred thousand of them."""

    tries: int  # searches
    successes: int  # searches that found a counterfactual
    loss: float | None  # as the following, of the best repetition; None where none succeeded
    objective_value: float | None
    seconds: float | None
    queries: int | None  # likewise


@dataclass(frozen=True, eq=False)
class Group:
    """One row of the board: a searcher's cells on a task, a fold each."""

    task: Task
    searcher: str  # its label
    setup: str  # what else tells this group from others of the same label and task; empty where nothing does
    cells: tuple[CellSummary, ...]  # in the order of their folds

    @property
    def label(self) -> str:
        """The searcher's label, with the setup where one is needed."""
        return f"{self.searcher} ({self.setup})" if self.setup else self.searcher

    @property
    def ran(self) -> tuple[CellSummary, ...]:
        """The cells that have results."""
        return tuple(cell for cell in self.cells if cell.has_results)

    @property
    def loss_alone(self) -> bool:
        """Whether results were searched for the loss alone, and judged under the task's objective."""
        return any(isinstance(cell, JudgedCell) and cell.has_results for cell in self.cells)

    @property
    def folds(self) -> tuple[int, ...]:
        """The folds of the cells that have results."""
        return tuple(cell.info.fold for cell in self.ran)

    @cached_property
    def places(self) -> tuple[Point, ...]:
        """The points with results, in the order of folds and points: the keys of `points`."""
        return tuple((cell.info.fold, row_id) for cell in self.ran for row_id in cell.row_ids)

    def column(self, name: str) -> FloatArray:
        """Return a field of the cells, such as ``loss``, one value per place; NaN where there is none.

        It is much faster than to go through `points`, which boards of a hundred thousand points do without.
        """
        return np.array([value for cell in self.ran for value in getattr(cell, name)], dtype=np.float64)

    @cached_property
    def points(self) -> dict[Point, PointResult]:
        """What is known about every point that was asked, in the order of folds and points."""
        found: dict[Point, PointResult] = {}
        for cell in self.ran:
            columns = (cell.tries, cell.successes, cell.loss, cell.objective_value, cell.seconds, cell.queries)
            for row_id, *values in zip(cell.row_ids, *columns, strict=True):
                found[cell.info.fold, row_id] = PointResult(*values)
        return found


def group_cells(summaries: Iterable[CellSummary]) -> list[Group]:
    """Group the cells of a record, in the order of tasks, labels and setups."""
    by_label: dict[tuple[Task, str], dict[str, list[CellSummary]]] = defaultdict(lambda: defaultdict(list))
    for summary in summaries:
        info = summary.info
        task = Task(info.dataset, info.model, info.objective, info.constraints)
        by_label[task, info.searcher][digest_of(_without_fold(summary.content))].append(summary)
    groups = []
    for (task, searcher), by_content in sorted(by_label.items(), key=lambda item: item[0]):
        contents = [cells[0].content for cells in by_content.values()]
        for cells, setup in zip(by_content.values(), differences(contents), strict=True):
            ordered = tuple(sorted(cells, key=lambda cell: cell.info.fold))
            groups.append(Group(task, searcher, setup, ordered))
    return sorted(groups, key=lambda group: (group.task, group.searcher, group.setup))


def lacks_values(cell: CellSummary) -> bool:
    """Whether a point's result of a cell has a loss and no objective value, as in records of early versions."""
    return any(
        loss is not None and (value is None or isnan(value))
        for loss, value in zip(cell.loss, cell.objective_value, strict=True)
    )


def is_white_box(group: Group, names: Collection[str]) -> bool:
    """Whether a searcher uses the model's structure: by the record, or by the `names` of those registered here."""
    return bare_name(group.searcher) in names or any(cell.info.white_box for cell in group.cells)


def bare_name(label: str) -> str:
    """Return the registered name in a label.

    Examples
    --------
    >>> bare_name("k[m=4]")
    'k'
    """
    return label.partition("[")[0]


def differences(contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe what distinguishes each content from the others, except the fold; empty if there is only one."""
    flat = [_flattened(_without_fold(content)) for content in contents]
    keys = sorted({key for content in flat for key in content})
    telling = [key for key in keys if any(content.get(key) != flat[0].get(key) for content in flat)]
    return [", ".join(f"{key}={_shown(content.get(key))}" for key in telling) for content in flat]


def _without_fold(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "fold"}


def _flattened(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            flat |= _flattened(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = str(value)
    return text[:8] if len(text) == 32 and text.isalnum() else text  # a digest is told by its first digits


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
        if self in (GroupBy.NOTHING, GroupBy.TASK):
            return str(group.task) if self is GroupBy.TASK else ""
        part = "data set" if self is GroupBy.DATASET else self.value
        return f"{part} {group.task.parts[part]}"


@dataclass(frozen=True)
class Selection:
    """Which cells of a record are shown: labels or names to keep, everything where empty."""

    datasets: Collection[str] = ()
    models: Collection[str] = ()
    objectives: Collection[str] = ()
    constraints: bool | None = None  # None: both
    # The only version of the benchmark's protocol to show, since versions must not be mixed. Empty: the record has
    # one version.
    protocol: str = ""
    searchers: Collection[str] = ()

    def of(self, summaries: Iterable[CellSummary]) -> list[CellSummary]:
        """Return the cells that are shown.

        Raises UnknownNameError if something to keep is not in the record. Raises RecordError if it is there, but not
        together with the rest of the selection; if the cells that are left are of several versions of the protocol.
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
        named = ", ".join(
            f"version {version or 'unknown'}: {plural(count, 'cell')}" for version, count in sorted(versions.items())
        )
        one = next(version for version in sorted(versions, reverse=True) if version)
        raise RecordError(
            f"these cells were searched under several versions of the benchmark's protocol ({named}), and results of "
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
