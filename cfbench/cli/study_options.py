"""The options that make a study: a file or a preset, and what replaces parts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cfbench.cli.options import FOLD, open_registry
from cfbench.errors import StudyError
from cfbench.harness.sources import datasets_of, folders_among

if TYPE_CHECKING:
    from cfbench.harness.study import Study
    from cfbench.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

STARTING_POINT = "quick"
"""The preset that options change where neither a file nor a preset is named."""

_CONSTRAINTS = {"on": (True,), "off": (False,), "both": (False, True)}


def _several(option: str, key: str, metavar: str, help_text: str, **more: Any) -> Callable[[F], F]:
    """Return an option that may be repeated."""
    return click.option(option, key, multiple=True, metavar=metavar, help=f"{help_text} May be repeated.", **more)


_OPTIONS = [
    click.argument("study_file", metavar="[STUDY]", required=False, type=click.Path(path_type=Path)),
    click.option(
        "--preset",
        metavar="NAME",
        help=f"Start from quick, standard or paper; without STUDY, {STARTING_POINT} is the default.",
    ),
    _several("--dataset", "datasets", "NAME|./FOLDER", "Data set."),
    _several("--model", "models", "NAME[SETTING=VALUE,...]", "Model."),
    _several("--searcher", "searchers", "NAME[SETTING=VALUE,...]", "Searcher."),
    _several("--objective", "objectives", "NAME[SETTING=VALUE,...]", "Objective."),
    _several("--metric", "metrics", "NAME[SETTING=VALUE,...]", "Metric to measure."),
    click.option("--constraints", type=click.Choice([*_CONSTRAINTS]), help="Plausibility constraints."),
    _several("--fold", "folds", "N", "Fold, from 0 to 4.", type=FOLD),
    click.option("--points", metavar="N|all", help="The first N eligible points of a fold."),
    click.option("--repetitions", type=int, metavar="N", help="Searches a point."),
    _several("--set", "assignments", "ENTRY.SETTING=VALUE", "Setting of an entry, wherever the study uses it."),
    click.option("--time-limit", metavar="SECONDS|none", help="Wall-clock limit of a search."),
    click.option("--query-budget", metavar="ROWS|none", help="Rows that a search may ask of the model."),
    click.option("--respect-steps/--ignore-steps", default=None, help="Whether values off a feature's step are valid."),
    click.option("--workers", type=int, metavar="N", help="Processes that search; results do not depend on it."),
    click.option("--seed", type=int, metavar="N", help="Seed of all random streams."),
    click.option("--tracking", metavar="ADDRESS|none", help="MLflow's tracking address."),
    click.option(
        "--results",
        type=click.Path(path_type=Path, file_okay=False),
        help="The record's directory.  [default: the study's, or results]",
    ),
]


def study_options(command: F) -> F:
    """Add the options to a command's function, which hands them on to `study_from_options` as they are."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def study_from_options(
    options: Mapping[str, Any], *, plugins: Sequence[str] = (), strict: bool = False
) -> tuple[Registry, Study]:
    """Turn the options of a command into a study, and build the registry that knows its data-set folders.

    Parameters
    ----------
    options : mapping
        What `study_options` added, by parameter name.
    plugins : sequence of str
        Modules and files to register.
    strict : bool
        Whether a plugin that fails to load is an error.

    Raises
    ------
    StudyError, UnknownNameError
        If the file, the preset or an option cannot be used.
    """
    from cfbench.harness.presets import preset
    from cfbench.harness.study import override, read_study

    file, preset_name = options["study_file"], options["preset"]
    if file is not None and preset_name is not None:
        raise StudyError(
            f"a study file ({file}) and --preset {preset_name} are two starting points; give one of them, and change "
            "it with options"
        )
    changes = _changes(options)
    study = None if file is None else read_study(file)
    datasets = changes.get("datasets") or (datasets_of(study) if study else ())
    registry = open_registry(plugins, folders_among(datasets), strict=strict)
    if study is None:
        study = preset(preset_name or STARTING_POINT, registry)
        if preset_name is None and changes:
            changes.setdefault("name", "command-line")
            # Settings that keep a first look short are no defaults of the searchers.
            study = study.model_copy(update={"settings": {}})
    return registry, override(study, **changes)


def _changes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a study that the options replace."""
    lists = ("datasets", "models", "searchers", "objectives", "metrics", "folds")
    single = ("repetitions", "respect_steps", "workers", "seed", "tracking", "results")
    changes: dict[str, Any] = {key: list(options[key]) for key in lists if options[key]}
    changes |= {key: options[key] for key in single if options[key] is not None}
    if options["constraints"] is not None:
        changes["constraints"] = _CONSTRAINTS[options["constraints"]]
    if options["points"] is not None:
        changes["points"] = _number(options["points"])
    for key in ("time_limit", "query_budget"):
        if options[key] is not None:
            changes[key] = None if options[key] == "none" else _number(options[key])
    if options["assignments"]:
        changes["settings"] = _settings(options["assignments"])
    return changes


def _number(text: str) -> Any:
    """Return the number that `text` writes; the text itself where it writes none, for the study to complain about."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _settings(assignments: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read ``ENTRY.SETTING=VALUE``."""
    from cfbench.harness.literals import parse_value

    tables: dict[str, dict[str, Any]] = {}
    for text in assignments:
        target, equals, value = text.partition("=")
        entry, dot, setting = (piece.strip() for piece in target.partition("."))
        if not (equals and dot and entry and setting):
            raise StudyError(f"--set {text!r}: write ENTRY.SETTING=VALUE, as in cogs.population_size=500")
        try:
            tables.setdefault(entry, {})[setting] = parse_value(value)
        except StudyError as error:
            raise StudyError(f"--set {text!r}: {error}") from None
    return tables
