"""The plan: a study's cells with their keys, in the order in which they run, and the command that repeats them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cfbench.digests import digest_of
from cfbench.errors import StudyError, UnavailableError, UnknownNameError
from cfbench.registry.contracts import DataSource
from cfbench.registry.entries import DatasetEntry, Entry
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.space.dataset import N_FOLDS, Dataset
from cfbench.study.obstacles import PLAIN, Added, added_by, beyond_objective, obstacle
from cfbench.study.protocol import DRAWN, PROTOCOL_VERSION
from cfbench.study.sources import load_dataset
from cfbench.study.study import AXES, Study, StudyPart, override
from cfbench.study.variants import Variant, build_settings, make_variant, parse_variant, resolve_variant
from cfbench.text import plural

_KINDS = {"models": "model", "searchers": "searcher", "objectives": "objective"}


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
    for name in ("dataset", "model", "searcher", "objective"):
        for value in dict.fromkeys(getattr(cell, name) for cell in cells):
            words += [f"--{name}", value]
    switches = {cell.constraints for cell in cells}
    words += ["--constraints", "both" if len(switches) == 2 else "on" if True in switches else "off"]
    for fold in sorted({cell.fold for cell in cells}):
        words += ["--fold", str(fold)]
    words += ["--points", str(points), "--repetitions", str(repetitions)]
    for key in ("query_budget", "time_limit", "prepare_budget", "seed"):
        if content.get(key) is not None:
            value = f"{content[key]:g}" if isinstance(content[key], float) else str(content[key])
            words += [f"--{key.replace('_', '-')}", value]
    if content.get("respect_steps"):
        words.append("--respect-steps")
    return shlex.join([*words, "--results", results])


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
    prepares: bool = False  # whether its searcher does something in `prepare`
    prepare_budget: int | None = None  # queries of a preparation
    prepare_time_limit: float | None = None  # seconds of a preparation. Not in the key: past it, the cell fails
    named: bool = True  # False: the study does not name it; it runs because its results are judged under `judged`

    @property
    def names(self) -> tuple[str, str, str, str]:
        """The names that seed its random streams: of the data set, the model, the searcher and the objective."""
        content = self.content
        return content["dataset"]["name"], content["model"]["name"], self.searcher.name, self.objective.name


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
    if source.points_from is not None:
        study = override(study, folds=[0])  # the held-out rows, in place of folds
    parts = [
        {axis: getattr(study if getattr(part, axis) is None else part, axis) for axis in AXES}
        for part in study.parts or (StudyPart(),)
    ]
    axes = {axis: list(dict.fromkeys(item for part in parts for item in part[axis])) for axis in AXES}
    resolution = _resolve(study, axes, registry, source)
    terms = _terms(resolution, registry)
    tables: dict[str, dict[str, Any]] = {}  # one object for equal tables: a study has many cells and few models
    plain = resolve_variant(registry, "objective", PLAIN, study.settings) if PLAIN in registry.objectives else None
    cells: dict[str, Cell] = {}
    for place, number in _places(parts, axes, resolution):
        dataset, judged = resolution.datasets[place.dataset], place.objective
        loss_alone = plain is not None and _searches_for_loss(place, registry, dataset, terms)
        if plain is not None and loss_alone:
            place = place._replace(objective=plain)  # noqa: PLW2901 - the same place, searched with less
        counts = _counts(study, study.parts[number] if study.parts else StudyPart(), place.searcher.name)
        cell = _cell(place, counts, study, registry, dataset, terms, tables)
        cell = replace(cell, judged=(judged,) if loss_alone else (), named=not loss_alone)
        other = cells.get(cell.info.key)
        cells[cell.info.key] = cell if other is None else _together(other, cell)
    reasons = Counter(cell.skipped for cell in cells.values() if cell.skipped)
    skipped = [f"{count} cell{'s are' if count > 1 else ' is'} skipped: {reason}" for reason, count in reasons.items()]
    if sum(reasons.values()) == len(cells):
        listed = "".join(f"\n  {reason}" for reason in (*resolution.notes, *skipped))
        raise StudyError(f"study {study.name}: none of its {len(cells)} cells can run{listed}")
    said = (*_remarks(cells.values(), resolution, registry), *judged_notes(cells.values()), *skipped)
    notes = (*study.notes, *resolution.notes, *said)
    return Plan(study, tuple(cells.values()), notes, resolution.datasets, resolution.metrics)


@dataclass(frozen=True)
class _Resolution:
    """What the names of a study refer to."""

    names: dict[str, str]  # registered names of data sets by their names in the study; without those left out
    datasets: dict[str, Dataset]  # by registered name
    variants: dict[tuple[str, str], Variant]  # by axis ("models", ...) and name in the study
    metrics: tuple[Variant, ...]
    notes: tuple[str, ...]


def _resolve(study: Study, axes: Mapping[str, Sequence[Any]], registry: Registry, source: DataSource) -> _Resolution:
    """Look up everything that a study names. Tables are loaded last, so that a misspelt name is reported at once."""
    notes: list[str] = []
    variants = {
        (axis, text): resolve_variant(registry, kind, text, study.settings)
        for axis, kind in _KINDS.items()
        for text in axes[axis]
    }
    _refuse_unclear_tables(study, axes, registry)
    for text in axes["objectives"]:
        objective = variants["objectives", text]
        simpler = simplest(objective, registry)
        if simpler != objective:
            notes.append(f"objective {objective.label} is planned as {simpler.label}, because they are the same")
            variants["objectives", text] = simpler
    for name in study.at_most:
        registry.searcher(name)
    for name in study.optional_datasets:
        if name not in (*axes["datasets"], *study.datasets):
            hint = "Only data sets that the study names can be optional."
            raise UnknownNameError("optional data set", name, axes["datasets"], hint)
    names, datasets = _datasets(study, axes["datasets"], registry, source, notes)
    own = {variants["models", text].label: registry.model(text.partition("[")[0]).entry for text in axes["models"]}
    brought = [label for label, entry in own.items() if entry.fitted is not None]
    if source.points_from is not None:
        notes.append(f"the points are those of {source.points_from}, and all rows of the data set are training rows")
    elif brought:
        notes.append(
            f"{', '.join(brought)}: fitted elsewhere, so the test rows of a fold may be among its training rows; "
            "--points-from FILE.csv takes points that were held out"
        )
    return _Resolution(names, datasets, variants, metrics_of(study, registry), tuple(notes))


def _datasets(
    study: Study, texts: Sequence[str], registry: Registry, source: DataSource, notes: list[str]
) -> tuple[dict[str, str], dict[str, Dataset]]:
    """Load the data sets; note the optional ones that are unavailable."""
    names: dict[str, str] = {}
    datasets: dict[str, Dataset] = {}
    entries = {text: _dataset_entry(text, registry) for text in texts}
    for text, entry in entries.items():
        try:
            if entry.name not in datasets:
                datasets[entry.name] = load_dataset(entry, source)
        except UnavailableError as error:
            if text not in study.optional_datasets:
                raise
            notes.append(f"data set {entry.name} is left out: {error}")
        else:
            names[text] = entry.name
    return names, datasets


def _dataset_entry(text: str, registry: Registry) -> DatasetEntry:
    try:
        return registry.dataset(text).entry
    except UnknownNameError as error:
        if "/" not in text and Path(text).is_dir():
            hint = f"There is a folder of that name; a folder is written as a path: ./{text}"
            raise UnknownNameError(error.kind, text, error.known, hint) from None
        raise


def simplest(objective: Variant, registry: Registry) -> Variant:
    """Replace an objective by the simpler one that its settings amount to: ``k[m=0]`` is planned as ``none``."""
    owner = registry.objective(objective.name).entry.objective
    other = build_settings(owner, objective.settings, objective.name).amounts_to()
    return resolve_variant(registry, "objective", other) if other else objective


def metrics_of(study: Study, registry: Registry) -> tuple[Variant, ...]:
    """Return a study's metrics; those that are registered as defaults if it lists none.

    Raises UnknownNameError or StudyError if one is unknown, or has no such setting.
    """
    found = [resolve_variant(registry, "metric", text, study.settings) for text in _metric_names(study, registry)]
    return tuple({metric.label: metric for metric in found}.values())


def _metric_names(study: Study, registry: Registry) -> tuple[str, ...]:
    return registry.default_metrics if study.metrics is None else study.metrics


def _refuse_unclear_tables(study: Study, axes: Mapping[str, Sequence[str]], registry: Registry) -> None:
    """Raise an error for a table of settings that fits no entry, or two in use; check tables of unused ones."""
    known = {kind: registry.kinds[f"{kind}s"] for kind in (*_KINDS.values(), "metric")}
    used = {(kind, parse_variant(text)[0]) for axis, kind in _KINDS.items() for text in axes[axis]}
    used |= {("metric", parse_variant(text)[0]) for text in _metric_names(study, registry)}
    for name, table in study.settings.items():
        owners = [kind for kind, entries in known.items() if name in entries]
        if not owners:
            names = {name for entries in known.values() for name in entries}
            raise UnknownNameError("entry in settings", name, names)
        in_use = [kind for kind in owners if (kind, name) in used]
        if len(in_use) > 1:
            raise StudyError(
                f"settings.{name}: the study uses a {' and a '.join(in_use)} of that name, and the table does not say "
                f"which it is for; write the settings in brackets instead: {name}[setting=value]"
            )
        if not in_use and len(owners) == 1:
            make_variant(known[owners[0]][name].entry, table)


def _places(
    parts: Sequence[Mapping[str, Sequence[Any]]], axes: Mapping[str, Sequence[Any]], resolution: _Resolution
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


def _terms(resolution: _Resolution, registry: Registry) -> dict[tuple[str, str], Added]:
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
        added[cell.searcher.label] += not cell.named
    alike: dict[tuple[str, ...], list[str]] = {}
    for searcher, labels in objectives.items():
        alike.setdefault(tuple(labels), []).append(searcher)
    return [
        f"{', '.join(searchers)}: searched for the loss alone, and judged under objective {', '.join(labels)}"
        + (f" ({plural(count, 'cell')} of objective {PLAIN} added for that)" if count else "")
        for labels, searchers in alike.items()
        for count in [sum(added[searcher] for searcher in searchers)]
    ]


def _remarks(cells: Iterable[Cell], resolution: _Resolution, registry: Registry) -> list[str]:
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
    counts: tuple[int | None, int],
    study: Study,
    registry: Registry,
    dataset: Dataset,
    terms: Mapping[tuple[str, str], Added],
    tables: dict[str, dict[str, Any]],
) -> Cell:
    model = registry.model(place.model.name).entry
    searcher = registry.searcher(place.searcher.name).entry
    entries: dict[str, Entry] = {
        "dataset": registry.dataset(place.dataset).entry,
        "model": model,
        "searcher": searcher,
        "objective": registry.objective(place.objective.name).entry,
    }

    def shared(table: dict[str, Any]) -> dict[str, Any]:
        return tables.setdefault(repr(table), table)

    budget = searcher.default_budget if study.query_budget is None else study.query_budget
    is_folder = registry.dataset(place.dataset).entry.folder is not None
    content = {
        "protocol": PROTOCOL_VERSION,
        # The name seeds the searches; the digest stands for all that the table and its annotation hold. The name of a
        # user's folder is a label alone: it depends on the other folders.
        "dataset": shared({"name": dataset.digest if is_folder else place.dataset, "digest": dataset.digest}),
        # Likewise, the name of a user's own model is that of a file; its version is its digest.
        "model": shared(_content(place.model, model) | ({"name": model.version} if model.fitted is not None else {})),
        "searcher": shared(_content(place.searcher, entries["searcher"])),
        "objective": shared(_content(place.objective, entries["objective"])),
        "constraints": place.constraints,
        "respect_steps": study.respect_steps,
        "fold": place.fold,
        "points": DRAWN,
        "query_budget": budget,
        "time_limit": study.time_limit,
        "seed": study.seed,
    }
    if study.prepare_budget is not None and searcher.prepares:
        content["prepare_budget"] = study.prepare_budget
    info = CellInfo(
        key=digest_of(content),
        dataset=place.dataset,
        model=place.model.label,
        searcher=place.searcher.label,
        objective=place.objective.label,
        constraints=place.constraints,
        fold=place.fold,
        versions=shared(
            {"protocol": str(PROTOCOL_VERSION), **{kind: entry.version for kind, entry in entries.items()}}
        ),
        white_box=searcher.is_white_box,
    )
    term = terms[place.objective.label, place.dataset]
    skipped = obstacle(searcher, model, dataset, place.objective.label, term, constraints=place.constraints)
    points, repetitions = counts
    in_fold = dataset.held_out or -(-dataset.n // N_FOLDS)
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
        prepares=searcher.prepares,
        prepare_budget=study.prepare_budget,
        prepare_time_limit=study.prepare_time_limit,
    )


def _content(variant: Variant, entry: Entry) -> dict[str, Any]:
    return {"name": variant.name, "version": entry.version, "settings": variant.settings}


def _counts(study: Study, part: StudyPart, searcher: str) -> tuple[int | None, int]:
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
    """Join the cells of two places: the most points and repetitions of both, and all objectives."""
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
        named=cell.named or other.named,
    )
