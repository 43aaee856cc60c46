"""What a reader should know before comparing the rows of a board, a sentence each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cfbench.analysis.contest import Contest
from cfbench.analysis.groups import Group, Task, bare_name
from cfbench.counts import plural
from cfbench.harness.store.summary import CellSummary
from cfbench.outcome import Status

SHOWN = 3
"""How many cases of one caution are named; the others are counted."""

ENTRIES = ("dataset", "model", "searcher", "objective")
"""The parts of a cell that have versions of their own; `CellInfo.versions` and `CellInfo` name them alike."""


def cautions(groups: Sequence[Group]) -> list[str]:
    """Return every caution that applies to the groups of a board, the gravest first."""
    cells = [cell for group in groups for cell in group.cells]
    by_task: dict[Task, list[Group]] = defaultdict(list)
    for group in groups:
        if group.ran:
            by_task[group.task].append(group)
    found = [
        *_failed(cells),
        *_fingerprints(cells),
        *_versions(cells),
        *_setups(groups),
        *_uneven(by_task),
        *_abnormal(groups),
        *_skipped(cells),
    ]
    return [" ".join(sentence.split()) for sentence in found]


def compared_by_loss(contest: Contest) -> list[str]:
    """Say which tasks are ranked by the loss, since cells have no objective values, and which cells these are."""
    cells = [cell for arena in contest.arenas for cell in arena.without_values]
    if not cells:
        return []
    tasks = sum(bool(arena.without_values) for arena in contest.arenas)
    folds: dict[str, list[int]] = defaultdict(list)
    for cell in cells:
        info = cell.info
        task = Task(info.dataset, info.model, info.objective, info.constraints)
        folds[f"{info.searcher} on {task}, fold"].append(cell.info.fold)
    cases = [f"{name} {spans(numbers)}" for name, numbers in folds.items()]
    return [
        f"ranked by the loss, not by the objective: {plural(tasks, 'task')}, since the results of "
        f"{plural(len(cells), 'cell')} have no objective value, as in records of early versions: {_listing(cases)}"
    ]


def spans(numbers: Iterable[int]) -> str:
    """Write whole numbers in short.

    Examples
    --------
    >>> spans([0, 1, 2, 4])
    '0-2, 4'
    """
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _listing(cases: Sequence[str]) -> str:
    rest = len(cases) - SHOWN
    return "; ".join(cases[:SHOWN]) + (f"; and {rest} more" if rest > 0 else "")


def _failed(cells: Iterable[CellSummary]) -> list[str]:
    return _by_reason(
        [(cell, f"{cell.info.dataset}, {cell.info.model}: {cell.failure}") for cell in cells if cell.failure],
        "cells that failed, so that they are in no number (the same study runs them again)",
        "cells that failed when they ran last; what was finished before counts (the same study runs them again)",
    )


def _skipped(cells: Iterable[CellSummary]) -> list[str]:
    return _by_reason(
        [(cell, f"{cell.info.searcher}: {cell.skipped}") for cell in cells if cell.skipped],
        "cells that were skipped",
        "cells that were skipped when they ran last; what was finished before counts",
    )


def _by_reason(reasons: Sequence[tuple[CellSummary, str]], lost: str, older: str) -> list[str]:
    """Count reasons apart for cells without results (`lost`) and for those with results of an earlier run."""
    found = []
    for sentence, has_results in ((lost, False), (older, True)):
        counts = Counter(reason for cell, reason in reasons if cell.has_results is has_results)
        if counts:
            found.append(f"{sentence}: {_listing([f'{count} of {reason}' for reason, count in counts.most_common()])}")
    return found


def _fingerprints(cells: Iterable[CellSummary]) -> list[str]:
    models: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    for cell in cells:
        models[cell.info.dataset, cell.info.model, cell.info.fold].update(cell.fingerprints)
    cases = [
        f"{dataset}, {model}, fold {fold} ({', '.join(sorted(mark[:8] for mark in marks))})"
        for (dataset, model, fold), marks in sorted(models.items())
        if len(marks) > 1
    ]
    if not cases:
        return []
    return [f"searches of one fold met differently fitted models, so they are not strictly alike: {_listing(cases)}"]


def _versions(cells: Iterable[CellSummary]) -> list[str]:
    versions: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cell in cells:
        for part, version in cell.info.versions.items():
            name = bare_name(getattr(cell.info, part)) if part in ENTRIES else ""
            versions[part, name].add(version)
    cases = [
        f"{part} {name}".strip() + f": {', '.join(sorted(known))}"
        for (part, name), known in sorted(versions.items())
        if len(known) > 1
    ]
    return [f"versions are mixed: {_listing(cases)}"] if cases else []


def _setups(groups: Iterable[Group]) -> list[str]:
    several = sorted({group.searcher for group in groups if group.setup})
    if not several:
        return []
    return [f"cells of one label differ in more than the fold and stand in rows of their own: {_listing(several)}"]


def _uneven(by_task: Mapping[Task, Sequence[Group]]) -> list[str]:
    """Say where searchers were not given the same: first folds, then points and repetitions in the folds of all."""
    uneven: dict[str, dict[str, list[Task]]] = {what: defaultdict(list) for what in ("folds", "points", "repetitions")}
    for task, groups in by_task.items():
        common = set.intersection(*(set(group.folds) for group in groups))
        if any(set(group.folds) != common for group in groups):
            uneven["folds"][_view({group.label: spans(group.folds) for group in groups})].append(task)
        asked = {group.label: {place for place in group.points if place[0] in common} for group in groups}
        shared = set.intersection(*asked.values())
        if any(places != shared for places in asked.values()):
            counts = {label: str(len(places)) for label, places in asked.items()}
            uneven["points"][f"{_view(counts)} ({len(shared)} asked of all)"].append(task)
        most = {group.label: {cell.repetitions for cell in group.ran if cell.info.fold in common} for group in groups}
        if len({frozenset(counts) for counts in most.values()}) > 1:
            view = _view({label: spans(counts) or "0" for label, counts in most.items()})
            uneven["repetitions"][view].append(task)
    return [f"{what} differ between searchers: {_commonest(views)}" for what, views in uneven.items() if views]


def _commonest(views: Mapping[str, Sequence[Task]]) -> str:
    """Tell who had what in most of the tasks, and count the others: many are mostly uneven in one way."""
    (view, tasks), *others = sorted(views.items(), key=lambda item: -len(item[1]))
    example = f"{tasks[0]}: {view}" if len(tasks) == 1 else f"{view}, in {len(tasks)} tasks such as {tasks[0]}"
    rest = sum(len(other) for _, other in others)
    return example + (f"; and in {rest} more, otherwise" if rest else "")


def _view(views: Mapping[str, str]) -> str:
    """Say who has what; what most of many have is said once."""
    usual, count = Counter(views.values()).most_common(1)[0]
    named = [f"{label} has {view}" for label, view in views.items() if count < 3 or view != usual]
    return ", ".join([*named, *([f"the {count} others have {usual}"] if count >= 3 else [])])


def _abnormal(groups: Iterable[Group]) -> list[str]:
    ends: Counter[tuple[str, str]] = Counter()
    for group in groups:
        for cell in group.ran:
            for status in (Status.CRASHED, Status.TIMED_OUT, Status.INVALID):
                ends[group.searcher, status.value] += cell.statuses.get(status.value, 0)
    cases = [f"{searcher} {count} {status}" for (searcher, status), count in ends.most_common() if count]
    return [f"searches without a proper end, counted as not found: {_listing(cases)}"] if cases else []
