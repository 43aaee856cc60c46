"""The plan: a study's cells with their keys, in the order in which they run, and the command that repeats them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple, TypeVar

from cfbench.digests import digest_of
from cfbench.errors import StudyError
from cfbench.registry.contracts import DataSource
from cfbench.registry.entries import Entry
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.space.dataset import N_FOLDS, Dataset
from cfbench.study.obstacles import PLAIN, Added, added_by, beyond_objective, obstacle
from cfbench.study.protocol import DRAWN, PROTOCOL_VERSION
from cfbench.study.resolution import Resolution, resolve
from cfbench.study.study import AXES, Study, StudyPart
from cfbench.study.variants import Variant, build_settings, resolve_variant
from cfbench.text import plural


def command_again(
    cells: Sequence[CellInfo],
    content: Mapping[str, Any],
    *,
    points: int,
    repetitions: int,
    results: str = "again",
    command: str = "cfbench",
    plugins: Sequence[str] = (),
) -> str:
    """Return the command that runs the searches of some cells, into a record of their own or the one given.

    Parameters
    ----------
    cells : sequence of CellInfo
        At least one. Every combination of their data sets, models and so on is run.
    content : mapping
        All that one of their keys is a digest of: limits, steps and seed are taken from it; without it they are left
        to cfbench.
    points, repetitions : int
    results : str
        The directory of that record.
    command : str
        What the user types for ``cfbench``.
    plugins : sequence of str
        Modules and files that have to be registered.
    """
    words = [command, "run"]
    for plugin in plugins:
        words += ["--plugin", plugin]
    for option, name in (
        ("--dataset", "dataset"),
        ("--model", "model"),
        ("--searcher", "searcher"),
        ("--objective", "objective"),
    ):
        for value in dict.fromkeys(getattr(cell, name) for cell in cells):
            words += [option, value]
    switches = {cell.constraints for cell in cells}
    words += ["--constraints", "both" if len(switches) == 2 else "on" if True in switches else "off"]
    for fold in sorted({cell.fold for cell in cells}):
        words += ["--fold", str(fold)]
    words += ["--points", str(points), "--repetitions", str(repetitions)]
    for key, option in (("query_budget", "--query-budget"), ("time_limit", "--time-limit"), ("seed", "--seed")):
        if content.get(key) is not None:
            words += [option, f"{content[key]:g}" if isinstance(content[key], float) else str(content[key])]
    if content.get("respect_steps"):
        words.append("--respect-steps")
    return shlex.join([*words, "--results", results])


T = TypeVar("T", bound=dict[str, Any])


class SharedTables:
    """Returns one object for equal tables: a record has any number of cells, and few models and searchers."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def table(self, given: T) -> T:
        """Return the first table that is equal to `given`; it must not be changed afterwards."""
        found: T = self._known.setdefault(repr(given), given)
        return found


@dataclass(frozen=True, slots=True)
class Cell:
    """One (data set, model, searcher, objective, constraints on or off, fold), and what its searches may spend."""

    info: CellInfo
    dataset: str
    model: Variant
    searcher: Variant
    objective: Variant
    constraints: bool
    fold: int
    query_budget: int | None  # the study's, or the searcher's default
    time_limit: float | None
    respect_steps: bool
    seed: int
    content: dict[str, Any] = field(hash=False)  # all that can change a result; the key is its digest
    points: int | None  # eligible points to search from; None: all. Not in the key
    repetitions: int  # searches per point. Not in the key
    searches: int  # an upper bound, since eligible points are known after fitting; 0 for a skipped cell
    skipped: str = ""  # why it is not run; empty if it is
    judged: tuple[Variant, ...] = field(
        default=(), hash=False
    )  # objectives that only judge its results. Not in the key
    asked: bool = True  # False: the study does not name it; it runs because its results are judged under `judged`


@dataclass(frozen=True)
class Plan:
    """What a study comes to with what is registered here."""

    study: Study
    cells: tuple[Cell, ...]  # data set, fold and model change slowest, so that a worker keeps its model
    notes: tuple[str, ...]
    datasets: dict[str, Dataset]
    metrics: tuple[Variant, ...]

    @property
    def searches(self) -> int:
        """At most so many searches."""
        return sum(cell.searches for cell in self.cells)


class _Place(NamedTuple):
    """A cell's coordinates, resolved."""

    dataset: str
    fold: int
    model: Variant
    searcher: Variant
    objective: Variant
    constraints: bool


def make_plan(study: Study, registry: Registry, source: DataSource) -> Plan:
    """Plan a study's cells.

    Decision: a searcher that cannot minimise an objective searches for the loss alone, and its results are judged under
    the objective. Its place in the matrix is then a cell of objective ``none`` with the objective in `Cell.judged`.

    Raises UnknownNameError if an entry or a setting is unknown. Raises StudyError if a setting is impossible, or no
    cell can run. Raises UnavailableError or DataError if a data set is unavailable (unless it is optional) or invalid.
    """
    parts = [_lists(study, part) for part in study.parts or (StudyPart(),)]
    axes = {axis: list(dict.fromkeys(item for part in parts for item in part[axis])) for axis in AXES}
    resolution = resolve(study, axes, registry, source)
    terms = _terms(resolution, registry)
    shared = SharedTables()
    plain = resolve_variant(registry, "objective", PLAIN, study.settings) if PLAIN in registry.objectives else None
    cells: dict[str, Cell] = {}
    for place, number in _places(parts, axes, resolution):
        dataset, judged = resolution.datasets[place.dataset], place.objective
        loss_alone = plain is not None and _searches_for_loss(place, registry, dataset, terms)
        if plain is not None and loss_alone:
            place = place._replace(objective=plain)  # noqa: PLW2901 - the same place, searched with less
        asked = _asked(study, study.parts[number] if study.parts else StudyPart(), place.searcher.name)
        cell = _cell(place, asked, study, registry, dataset, terms, shared)
        cell = replace(cell, judged=(judged,) if loss_alone else (), asked=not loss_alone)
        other = cells.get(cell.info.key)
        cells[cell.info.key] = cell if other is None else _together(other, cell)
    counts = Counter(cell.skipped for cell in cells.values() if cell.skipped)
    skipped = [f"{count} cell{'s are' if count > 1 else ' is'} skipped: {reason}" for reason, count in counts.items()]
    if sum(counts.values()) == len(cells):
        reasons = "".join(f"\n  {reason}" for reason in (*resolution.notes, *skipped))
        raise StudyError(f"study {study.name}: none of its {len(cells)} cells can run{reasons}")
    said = (*_remarks(cells.values(), resolution, registry), *judged_notes(cells.values()), *skipped)
    notes = (*study.notes, *resolution.notes, *said)
    return Plan(study, tuple(cells.values()), notes, resolution.datasets, resolution.metrics)


def _lists(study: Study, part: StudyPart) -> dict[str, tuple[Any, ...]]:
    """Return a part's lists, the study's where it gives none."""
    return {axis: getattr(study if getattr(part, axis) is None else part, axis) for axis in AXES}


def _places(
    parts: Sequence[Mapping[str, Sequence[Any]]], axes: Mapping[str, Sequence[Any]], resolution: Resolution
) -> Iterator[tuple[_Place, int]]:
    """Combine every part's lists; data set, fold and model outermost, in the order in which they are first named.

    With each place comes the position of its part.
    """
    nesting = ("datasets", "folds", "models", "searchers", "objectives", "constraints")
    found = [
        (*combination, number)
        for number, part in enumerate(parts)
        for combination in product(*(part[axis] for axis in nesting))
    ]
    found.sort(key=lambda names: tuple(axes[axis].index(name) for axis, name in zip(nesting[:3], names, strict=False)))
    for dataset, fold, model, searcher, objective, constraints, number in found:
        if dataset in resolution.names:
            place = _Place(
                resolution.names[dataset],
                fold,
                resolution.variants["models", model],
                resolution.variants["searchers", searcher],
                resolution.variants["objectives", objective],
                constraints,
            )
            yield place, number


def _terms(resolution: Resolution, registry: Registry) -> dict[tuple[str, str], Added]:
    """Find out what objectives (by label) add on each data set."""
    found = {(PLAIN, name): Added() for name in resolution.datasets}
    for (axis, _), variant in resolution.variants.items():
        if axis == "objectives":
            objective = build_settings(registry.objective(variant.name).entry.objective, variant.settings)
            found |= {(variant.label, name): added_by(objective, data) for name, data in resolution.datasets.items()}
    return found


def _searches_for_loss(
    place: _Place, registry: Registry, dataset: Dataset, terms: Mapping[tuple[str, str], Added]
) -> bool:
    """Whether a searcher cannot minimise a place's objective, and nothing else keeps it from searching there."""
    searcher, model = registry.searcher(place.searcher.name).entry, registry.model(place.model.name).entry
    term = terms[place.objective.label, place.dataset]
    without = term._replace(has_term=False)
    return bool(beyond_objective(searcher, place.objective.label, term)) and not obstacle(
        searcher, model, dataset, place.objective.label, without, constraints=place.constraints
    )


def judged_notes(cells: Iterable[Cell]) -> list[str]:
    """Say which results are judged under further objectives, and how many cells are run for nothing else."""
    objectives: dict[str, dict[str, None]] = {}
    added: Counter[str] = Counter()
    for cell in cells:
        for objective in cell.judged:
            objectives.setdefault(cell.searcher.label, {})[objective.label] = None
        added[cell.searcher.label] += not cell.asked
    alike: dict[tuple[str, ...], list[str]] = {}
    for searcher, labels in objectives.items():
        alike.setdefault(tuple(labels), []).append(searcher)
    return [
        f"{', '.join(searchers)}: searched for the loss alone, and judged under objective {', '.join(labels)}"
        + (f" ({plural(count, 'cell')} of objective {PLAIN} added for that)" if count else "")
        for labels, searchers in alike.items()
        for count in [sum(added[searcher] for searcher in searchers)]
    ]


def _remarks(cells: Iterable[Cell], resolution: Resolution, registry: Registry) -> list[str]:
    """Return what the objectives say of the data sets that they run on, each once."""
    pairs = {
        (objective.label, cell.dataset): objective
        for cell in cells
        if not cell.skipped
        for objective in (cell.objective, *cell.judged)
    }
    found = []
    for (label, name), variant in pairs.items():
        objective = build_settings(registry.objective(variant.name).entry.objective, variant.settings)
        remark = objective.remark(resolution.datasets[name].space)
        if remark:
            found.append(f"objective {label} on {name}: {remark}")
    return found


def _cell(
    place: _Place,
    asked: tuple[int | None, int],
    study: Study,
    registry: Registry,
    dataset: Dataset,
    terms: Mapping[tuple[str, str], Added],
    shared: SharedTables,
) -> Cell:
    model = registry.model(place.model.name).entry
    searcher = registry.searcher(place.searcher.name).entry
    entries: dict[str, Entry] = {
        "dataset": registry.dataset(place.dataset).entry,
        "model": model,
        "searcher": searcher,
        "objective": registry.objective(place.objective.name).entry,
    }
    budget = searcher.default_budget if study.query_budget is None else study.query_budget
    is_folder = registry.dataset(place.dataset).entry.folder is not None
    content = {
        "protocol": PROTOCOL_VERSION,
        # The name seeds the searches; the digest stands for all that the table and its annotation hold. The name of a
        # user's folder is a label alone: it depends on the other folders.
        "dataset": shared.table({"name": dataset.digest if is_folder else place.dataset, "digest": dataset.digest}),
        "model": shared.table(_content(place.model, entries["model"])),
        "searcher": shared.table(_content(place.searcher, entries["searcher"])),
        "objective": shared.table(_content(place.objective, entries["objective"])),
        "constraints": place.constraints,
        "respect_steps": study.respect_steps,
        "fold": place.fold,
        "points": DRAWN,
        "query_budget": budget,
        "time_limit": study.time_limit,
        "seed": study.seed,
    }
    info = CellInfo(
        key=digest_of(content),
        dataset=place.dataset,
        model=place.model.label,
        searcher=place.searcher.label,
        objective=place.objective.label,
        constraints=place.constraints,
        fold=place.fold,
        versions=shared.table(
            {"protocol": str(PROTOCOL_VERSION), **{kind: entry.version for kind, entry in entries.items()}}
        ),
        white_box=searcher.is_white_box,
    )
    term = terms[place.objective.label, place.dataset]
    skipped = obstacle(searcher, model, dataset, place.objective.label, term, constraints=place.constraints)
    points, repetitions = asked
    in_fold = -(-dataset.n // N_FOLDS)
    return Cell(
        info=info,
        dataset=place.dataset,
        model=place.model,
        searcher=place.searcher,
        objective=place.objective,
        constraints=place.constraints,
        fold=place.fold,
        query_budget=budget,
        time_limit=study.time_limit,
        respect_steps=study.respect_steps,
        seed=study.seed,
        content=content,
        points=points,
        repetitions=repetitions,
        searches=0 if skipped else min(in_fold, points or in_fold) * repetitions,
        skipped=skipped,
    )


def _content(variant: Variant, entry: Entry) -> dict[str, Any]:
    return {"name": variant.name, "version": entry.version, "settings": variant.settings}


def _asked(study: Study, part: StudyPart, searcher: str) -> tuple[int | None, int]:
    """Return the points and repetitions of a part for a searcher, its caps kept."""
    points = part.points if "points" in part.model_fields_set else study.points
    repetitions = part.repetitions or study.repetitions
    cap = study.at_most.get(searcher)
    if cap is None:
        return points, repetitions
    if cap.points is not None:
        points = cap.points if points is None else min(points, cap.points)
    return points, repetitions if cap.repetitions is None else min(repetitions, cap.repetitions)


def _together(cell: Cell, other: Cell) -> Cell:
    """Return a cell that two places lead to, with the most points and repetitions of both, and what both ask for."""
    points = None if cell.points is None or other.points is None else max(cell.points, other.points)
    repetitions = max(cell.repetitions, other.repetitions)
    most = max(cell.searches // cell.repetitions, other.searches // other.repetitions)
    judged = (*cell.judged, *(objective for objective in other.judged if objective not in cell.judged))
    return replace(
        cell,
        points=points,
        repetitions=repetitions,
        searches=most * repetitions,
        judged=judged,
        asked=cell.asked or other.asked,
    )
