"""What a reader should know before comparing the rows of a board, one sentence each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum, auto

from cfbench.analysis.groups import Group, Task, bare_name
from cfbench.analysis.published import CombinedRecord
from cfbench.analysis.result_matrix import ResultMatrix
from cfbench.problem.outcome import Status
from cfbench.record.cells import CellSummary
from cfbench.record.reading import RecordReading
from cfbench.text import plural

LINE = 94
"""Signs of a note, so that it is one line of a hundred behind ``Note: ``."""


class NoteKind(IntEnum):
    """What a note is about, the most important kind first: this order is that of every output."""

    NO_RANKS = auto()
    """Why no searcher is ranked or compared."""
    FAILED = auto()
    """Cells without results, because something went wrong."""
    UNFINISHED = auto()
    """Searches that are in no number yet."""
    OTHER_MODELS = auto()
    """Searchers that met differently fitted models."""
    VERSIONS = auto()
    OTHER_VALUES = auto()
    """Tasks that are ranked by another value than the one that they ask for."""
    NOT_RANKED = auto()
    """Searchers that are not ranked, because points are missing."""
    TASKS_LEFT_OUT = auto()
    POINTS_LEFT_OUT = auto()
    MACHINES = auto()
    """Seconds of several machines."""
    NO_LOSS = auto()
    """Searchers that are ranked, and in no loss."""
    UNEVEN = auto()
    """Folds, points or repetitions that differ between searchers."""
    ABNORMAL = auto()
    """Searches that crashed, ran into a limit or returned something invalid."""
    NO_WINNER = auto()
    """Tasks that separate no searchers."""
    SETUPS = auto()
    NOT_RUN_HERE = auto()
    """Searchers whose results were made elsewhere."""
    NOT_RUN = auto()
    SKIPPED = auto()
    REFERENCE = auto()
    """Why nothing is compared with a reference."""
    UNFOUND = auto()
    """Why white boxes found nothing."""
    METRICS = auto()
    """Metrics without values, or with values in some cells only."""


class Note(str):
    """A note: its text, with the kind that decides its place."""

    kind: NoteKind

    def __new__(cls, kind: NoteKind, text: str) -> Note:
        """Return a text with a kind."""
        note = super().__new__(cls, " ".join(text.split()))
        note.kind = kind
        return note

    def under(self, title: str) -> Note:
        """Return the note as one of a titled table; itself where there is no title."""
        return Note(self.kind, f"{title}: {self}") if title else self


def notes_as(kind: NoteKind, texts: Iterable[str]) -> list[Note]:
    """Return texts as notes of one kind; what is a note already keeps its own."""
    return [text if isinstance(text, Note) else Note(kind, text) for text in texts]


def in_order(notes: Iterable[Note]) -> list[Note]:
    """Return notes by importance, each once; those of one kind keep their order."""
    return sorted(dict.fromkeys(notes), key=lambda note: note.kind)


def listing_note(kind: NoteKind, cases: Sequence[str], start: str, join: str = "; ") -> list[Note]:
    """Return the note that lists cases behind `start`; nothing if there is no case."""
    return [Note(kind, listing(cases, start=start, join=join))] if cases else []


def listing(cases: Sequence[str], *, start: str = "", join: str = "; ") -> str:
    """Write as many cases behind `start` as one line has room for, and count the others."""
    for number in range(len(cases), 0, -1):
        rest = len(cases) - number
        others = f"{join}{rest} other{'' if rest == 1 else 's'}" if rest else ""
        text = f"{start}{join.join(cases[:number])}{others}"
        if len(text) <= LINE:
            return text
    return text if cases else start


ENTRIES = ("dataset", "model", "searcher", "objective")
"""The parts of a cell that have versions of their own; `CellInfo.versions` and `CellInfo` name them alike."""


def cautions(groups: Sequence[Group]) -> list[Note]:
    """Return every caution that applies to the groups of a board."""
    cells = [cell for group in groups for cell in group.cells]
    by_task: dict[Task, list[Group]] = defaultdict(list)
    for group in groups:
        if group.ran:
            by_task[group.task].append(group)
    return [
        *_failed(cells),
        *_fingerprints(cells),
        *_versions(cells),
        *_setups(groups),
        *_made_elsewhere(groups),
        *_uneven(by_task),
        *_abnormal(groups),
        *_skipped(cells),
    ]


def compared_by_loss(matrix: ResultMatrix) -> list[Note]:
    """Say which tasks are ranked by the loss, since cells have no objective values, and which cells these are."""
    cells = [cell for task in matrix.tasks for cell in task.without_values]
    if not cells:
        return []
    n_tasks = sum(bool(task.without_values) for task in matrix.tasks)
    folds: dict[str, list[int]] = defaultdict(list)
    for cell in cells:
        info = cell.info
        of_cell = Task(info.dataset, info.model, info.objective, info.constraints)
        folds[f"{info.searcher} on {of_cell}, fold"].append(cell.info.fold)
    cases = [f"{name} {spans(numbers)}" for name, numbers in folds.items()]
    start = f"ranked by the loss in {plural(n_tasks, 'task')}, as objective values are missing: "
    return [Note(NoteKind.OTHER_VALUES, start + "; ".join(cases))]  # all: a terminal cuts it


def spans(numbers: Iterable[int]) -> str:
    """Write whole numbers in short."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _failed(cells: Iterable[CellSummary]) -> list[Note]:
    reasons = [(cell, f"{cell.info.dataset}, {cell.info.model}: {cell.failure}") for cell in cells if cell.failure]
    return _by_reason(NoteKind.FAILED, "failed", reasons)


def _skipped(cells: Iterable[CellSummary]) -> list[Note]:
    reasons = [
        # A reason mostly begins with the searcher's own name.
        (
            cell,
            cell.skipped if bare_name(cell.info.searcher) in cell.skipped else f"{cell.info.searcher}: {cell.skipped}",
        )
        for cell in cells
        if cell.skipped
    ]
    return _by_reason(NoteKind.SKIPPED, "skipped", reasons)


def _by_reason(kind: NoteKind, what: str, reasons: Sequence[tuple[CellSummary, str]]) -> list[Note]:
    """Count reasons, a note each, apart for cells without results and for those with results of an earlier run."""
    counts = Counter((cell.has_results, reason) for cell, reason in reasons)
    return [
        Note(kind, f"{plural(count, 'cell')} {what}{', earlier results count' if earlier else ''}: {reason}")
        for (earlier, reason), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1]))
    ]


def _fingerprints(cells: Iterable[CellSummary]) -> list[Note]:
    models: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    for cell in cells:
        models[cell.info.dataset, cell.info.model, cell.info.fold].update(cell.fingerprints)
    cases = [
        f"{dataset}, {model}, fold {fold} ({', '.join(sorted(mark[:8] for mark in marks))})"
        for (dataset, model, fold), marks in sorted(models.items())
        if len(marks) > 1
    ]
    return listing_note(NoteKind.OTHER_MODELS, cases, "searchers met differently fitted models: ")


def _versions(cells: Iterable[CellSummary]) -> list[Note]:
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
    return listing_note(NoteKind.VERSIONS, cases, "versions are mixed: ")


def _setups(groups: Iterable[Group]) -> list[Note]:
    several = sorted({group.searcher for group in groups if group.setup})
    return listing_note(NoteKind.SETUPS, several, "several rows, as seeds, limits or versions differ: ")


def _made_elsewhere(groups: Iterable[Group]) -> list[Note]:
    names = sorted({group.searcher for group in groups if any(cell.info.not_run_here for cell in group.cells)})
    start = "made elsewhere and judged here from files, so that their seconds and queries are as reported: "
    return listing_note(NoteKind.NOT_RUN_HERE, names, start)


def _uneven(by_task: Mapping[Task, Sequence[Group]]) -> list[Note]:
    """Say where searchers were not given the same: first folds, then points and repetitions in the folds of all."""
    uneven: dict[str, Counter[tuple[str, ...]]] = {what: Counter() for what in ("folds", "points", "repetitions")}
    for groups in by_task.values():
        common = set.intersection(*(set(group.folds) for group in groups))
        if any(set(group.folds) != common for group in groups):
            uneven["folds"][_view({group.label: spans(group.folds) for group in groups})] += 1
        asked = {group.label: {place for place in group.places if place[0] in common} for group in groups}
        shared = set.intersection(*asked.values())
        if any(places != shared for places in asked.values()):
            uneven["points"][_view({label: str(len(places)) for label, places in asked.items()})] += 1
        most = {group.label: {cell.repetitions for cell in group.ran if cell.info.fold in common} for group in groups}
        if len({frozenset(counts) for counts in most.values()}) > 1:
            uneven["repetitions"][_view({label: spans(counts) or "0" for label, counts in most.items()})] += 1
    found = []
    for what, views in uneven.items():
        if views:
            (view, _), *_ = views.most_common(1)  # many tasks are mostly uneven in one way
            start = f"{what} differ in {views.total()} of {plural(len(by_task), 'task')}, mostly: "
            found.append(
                Note(NoteKind.UNEVEN, listing(view, start=start if len(views) > 1 else start.replace(", mostly", "")))
            )
    return found


def _view(views: Mapping[str, str]) -> tuple[str, ...]:
    """Return what each searcher has; what at least three have in common is named once, and first."""
    usual, count = Counter(views.values()).most_common(1)[0]
    named = [f"{label} {view}" for label, view in views.items() if count < 3 or view != usual]
    return (*([f"{count} have {usual}"] if count >= 3 else []), *named)


def _abnormal(groups: Iterable[Group]) -> list[Note]:
    ends: Counter[tuple[str, str]] = Counter()
    for group in groups:
        for cell in group.ran:
            for status in (Status.CRASHED, Status.TIMED_OUT, Status.INVALID):
                ends[group.searcher, status.value] += cell.statuses.get(status.value, 0)
    cases = [f"{searcher} {count} {status}" for (searcher, status), count in ends.most_common() if count]
    return listing_note(NoteKind.ABNORMAL, cases, "searches without a proper end count as not found: ")


def why_unfound(record: RecordReading, cells: Iterable[CellSummary]) -> list[str]:
    """Count the reasons that white boxes gave where they found nothing, a sentence each, the most frequent first.

    Other searchers are compared with white boxes, so their reasons matter; a black box can only give up. Only cells
    in which something was not found are opened.
    """
    ends: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        if cell.info.white_box and cell.statuses.get(Status.NOT_FOUND.value):
            for row in record.rows(cell.info.key):
                if row["status"] == Status.NOT_FOUND and row["reason"]:
                    ends[cell.info.searcher, row["reason"]] += 1
    return [
        f"{searcher} found nothing in {plural(count, 'search')}: {reason}"
        for (searcher, reason), count in ends.most_common()
    ]


def seconds_of_machines(record: RecordReading) -> list[Note]:
    """Say which machines the seconds are of if there are several kinds; the user's own and the published apart."""
    if not isinstance(record, CombinedRecord):
        kinds = kinds_of(record.machines())
        start = "seconds are of several machines and not comparable: "
        return [Note(NoteKind.MACHINES, listing(kinds, start=start))] if len(kinds) > 1 else []
    if not record.yours:
        return []
    apart = record.machines_apart()
    yours, published = (" or ".join(kinds_of(one)) or "an unknown machine" for one in apart)
    if yours == published and apart[0]:
        return []
    return [Note(NoteKind.MACHINES, f"seconds are not comparable: yours of {yours}, published of {published}")]


def kinds_of(machines: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the kinds of some machines, each once: processor and cores."""
    return sorted({f"{one.get('processor', 'unknown')}, {one.get('cores', '?')} cores" for one in machines})
