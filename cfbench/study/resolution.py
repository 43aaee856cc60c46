"""What a study's names refer to: loaded data sets, entries with their settings, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfbench.errors import StudyError, UnavailableError, UnknownNameError
from cfbench.registry.contracts import DataSource
from cfbench.registry.entries import DatasetEntry
from cfbench.registry.registry import Registry
from cfbench.space.dataset import Dataset
from cfbench.study.sources import load_dataset
from cfbench.study.study import Study
from cfbench.study.variants import Variant, build_settings, make_variant, parse_variant, resolve_variant

_KINDS = {"models": "model", "searchers": "searcher", "objectives": "objective"}


@dataclass(frozen=True)
class Resolution:
    """What the names of a study refer to."""

    names: dict[str, str]  # registered names of data sets by their names in the study; without those left out
    datasets: dict[str, Dataset]  # by registered name
    variants: dict[tuple[str, str], Variant]  # by axis ("models", ...) and name in the study
    metrics: tuple[Variant, ...]
    notes: tuple[str, ...]


def resolve(study: Study, axes: Mapping[str, Sequence[Any]], registry: Registry, source: DataSource) -> Resolution:
    """Look up everything that a study names. Tables are loaded last, so that a misspelt name is reported at once.

    Raises UnknownNameError or StudyError or UnavailableError or DataError: as `make_plan`.
    """
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
    return Resolution(names, datasets, variants, metrics_of(study, registry), tuple(notes))


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
    found = [resolve_variant(registry, "metric", text, study.settings) for text in _metrics(study, registry)]
    return tuple({metric.label: metric for metric in found}.values())


def _metrics(study: Study, registry: Registry) -> tuple[str, ...]:
    return registry.default_metrics if study.metrics is None else study.metrics


def _refuse_unclear_tables(study: Study, axes: Mapping[str, Sequence[str]], registry: Registry) -> None:
    """Raise an error for a table of settings that fits no entry, or two in use; check tables of unused ones."""
    known: Mapping[str, Mapping[str, Any]] = {
        "model": registry.models,
        "searcher": registry.searchers,
        "objective": registry.objectives,
        "metric": registry.metrics,
    }
    used = {(kind, parse_variant(text)[0]) for axis, kind in _KINDS.items() for text in axes[axis]}
    used |= {("metric", parse_variant(text)[0]) for text in _metrics(study, registry)}
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
