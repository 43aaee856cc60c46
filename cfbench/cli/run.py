"""``cfbench run``: run a study, resume it, show its leaderboard."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cfbench.cli.options import (
    FOLD,
    Sources,
    command_name,
    model_options,
    source_options,
    tell,
    this_command,
)
from cfbench.cli.sync import tracking_reporter
from cfbench.errors import StudyError
from cfbench.study.sources import datasets_of, folders_among, models_of, refuse_foreign_models

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry
    from cfbench.running.progress import RunReport
    from cfbench.running.session import Session
    from cfbench.study.shard import Shard
    from cfbench.study.study import Study

F = TypeVar("F", bound=Callable[..., Any])

_CONSTRAINTS = {"on": (True,), "off": (False,), "both": (False, True)}


def _several(option: str, key: str, metavar: str, help_text: str, **more: Any) -> Callable[[F], F]:
    """Return an option that may be repeated."""
    return click.option(option, key, multiple=True, metavar=metavar, help=f"{help_text} May be repeated.", **more)


_OPTIONS = [
    click.argument("study_file", metavar="[STUDY]", required=False, type=click.Path(path_type=Path)),
    click.option(
        "--preset",
        metavar="NAME",
        help="Start from a preset, as `cfbench plugins` lists them; without STUDY, the default preset runs.",
    ),
    _several("--dataset", "datasets", "NAME|./FOLDER", "Data set."),
    _several(
        "--model",
        "models",
        "NAME[SETTING=VALUE,...]",
        "Model; one of your own is FILE.py:NAME, FILE.skops, FILE.joblib (with --trust) or http://HOST:PORT/PATH.",
    ),
    _several("--searcher", "searchers", "NAME[SETTING=VALUE,...]", "Searcher."),
    _several("--objective", "objectives", "NAME[SETTING=VALUE,...]", "Objective."),
    _several("--metric", "metrics", "NAME[SETTING=VALUE,...]", "Metric to measure."),
    click.option("--constraints", type=click.Choice([*_CONSTRAINTS]), help="Constraints."),
    _several("--fold", "folds", "N", "Fold, from 0 to 4.", type=FOLD),
    click.option("--points", metavar="N|all", help="Eligible points of each fold, in the order that the seed draws."),
    click.option("--repetitions", type=int, metavar="N", help="Searches per point."),
    _several("--set", "assignments", "ENTRY.SETTING=VALUE", "Setting of an entry, wherever the study uses it."),
    click.option("--time-limit", metavar="SECONDS|none", help="Wall-clock limit of a search."),
    click.option("--query-budget", metavar="QUERIES|none", help="Most queries of the model per search."),
    click.option("--prepare-time-limit", metavar="SECONDS|none", help="Limit of a searcher's preparation."),
    click.option("--prepare-budget", metavar="QUERIES|none", help="Most queries of a preparation."),
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
    """Add the options to a command's function, which passes them to `study_from_options`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def study_from_options(options: Mapping[str, Any], sources: Sources | None = None) -> tuple[Registry, Study]:
    """Return the study that a command's options describe, and the registry with its data-set folders.

    Raises StudyError or UnknownNameError if the file, the preset or an option cannot be used.
    """
    from cfbench.study.presets import preset
    from cfbench.study.study import override, read_study

    file, preset_name = options["study_file"], options["preset"]
    if file is not None and preset_name is not None:
        raise StudyError(
            f"a study file ({file}) and --preset {preset_name} are two starting points; give only one, and change "
            "it with options"
        )
    changes = _changes(options)
    sources = sources or Sources()
    study = None if file is None else read_study(file)
    if study is not None and "models" not in changes:
        refuse_foreign_models(study, file, trust=sources.trust)
    datasets = changes.get("datasets") or (datasets_of(study) if study else ())
    models = changes.get("models") or (models_of(study) if study else ())
    registry = sources.registry(folders_among(datasets), models)
    if study is None:
        study = preset(preset_name or _starting_point(registry), registry)
        if preset_name is None and changes:
            changes.setdefault("name", "command-line")
            # Settings that keep a first look short are no defaults of the searchers.
            study = study.model_copy(update={"settings": {}})
    return registry, override(study, **changes)


def _starting_point(registry: Registry) -> str:
    """Return the name of the preset that options change where neither a file nor a preset is named."""
    if registry.starting_point is None:
        raise StudyError(
            "no plugin registers a preset to start from; name a study file, or a preset with --preset NAME "
            f"({', '.join(registry.presets) or 'none is registered'})"
        )
    return registry.starting_point.name


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
    for key in ("time_limit", "query_budget", "prepare_time_limit", "prepare_budget"):
        if options[key] is not None:
            changes[key] = None if options[key] == "none" else _number(options[key])
    if options["assignments"]:
        changes["settings"] = _settings(options["assignments"])
    return changes


def _number(text: str) -> Any:
    """Return the number in `text`, or the text itself if it is not a number; the study then refuses it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _settings(assignments: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read ``ENTRY.SETTING=VALUE``."""
    from cfbench.study.literals import parse_value

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


_RUN_OPTIONS = [
    click.option(
        "--retry",
        "retry",
        multiple=True,
        metavar="STATUS",
        help="Repeat searches that ended with this status (crashed, timed_out, ...). May be repeated.",
    ),
    click.option(
        "--shard",
        metavar="NUMBER/OF",
        help="Run only this part of the cells, as in 3/16, into its own record; `cfbench merge` joins the parts.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Search on the Dask cluster of this scheduler, as in tcp://host:8786, instead of --workers.",
    ),
]


def run_options(command: F) -> F:
    """Add the study's options and those of a run; `session_from_options` takes them all."""
    command = model_options(source_options(command))
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return study_options(command)


def session_from_options(options: Mapping[str, Any]) -> Session:
    """Return the session that the options describe.

    Raises CfbenchError if the study, an option or a plugin cannot be used.
    """
    from cfbench.running.session import Session, check_statuses
    from cfbench.study.shard import Shard

    check_statuses(options["retry"])
    shard = None if options["shard"] is None else Shard.parse(options["shard"])
    sources: Sources = options["sources"]
    registry, study = study_from_options(options, sources)
    if shard is not None and options["results"] is None:
        study = study.model_copy(update={"results": shard.results(study.results)})
    return Session.prepare(study, registry, sources.data(), shard=shard, cluster=options["scheduler"])


@click.command("run", short_help="Run a study and show its leaderboard.")
@run_options
def command(**options: Any) -> None:
    """Run a study and show its leaderboard.

    Only what is missing in the record runs. So the same command resumes an interrupted run, and more points or
    repetitions extend the record. `cfbench plan` with the same options shows what is missing.
    """
    from cfbench.board.board import print_leaderboard
    from cfbench.record.store import Record
    from cfbench.running.interrupt import EXIT_CODE

    session = session_from_options(options)
    session.check_workers()
    results = session.plan.study.results
    with Record.open(results, write=True) as record:
        resume = this_command()
        report = session.run(record, retry=options["retry"], resume=resume, ends_process=True)
        for problem in record.problems:  # what was found damaged when it was read
            tell("Warning", problem)
        if not report.interrupted:
            print_leaderboard(record, session.registry, command=command_name())
    reporter = tracking_reporter(session.registry)
    _epilogue(report, reporter, tracking=session.tracking, results=results, resume=resume, shard=options["shard"])
    if report.interrupted:
        sys.exit(EXIT_CODE)
    if report.failures:
        sys.exit(1)


def _epilogue(
    report: RunReport, reporter: str, *, tracking: str, results: Path, resume: str, shard: str | None
) -> None:
    for failure in report.failures:
        tell("Failed", failure)
    for complaint in report.complaints:
        tell("Warning", complaint)
    if report.interrupted:
        return
    from cfbench.record.files import results_option
    from cfbench.study.shard import Shard
    from cfbench.tracking.addresses import shown_address

    option = results_option(results)
    click.echo()
    if tracking:
        click.echo(f"Tracking  {shown_address(tracking)}")
    click.echo("Go on with")
    name = command_name()
    hints = {"leaderboard": "the board again, filtered as you like"}
    hints |= {"ui": "every run in the MLflow UI"} if tracking else {"measure": "further metrics, without any search"}
    if tracking and any(complaint.startswith(f"{reporter}:") for complaint in report.complaints):
        hints["sync"] = "logs to MLflow what tracking missed"
    commands = {f"{name} {subcommand}{option}": what for subcommand, what in hints.items()}
    width = max(map(len, commands))
    commands |= _again(report, resume)
    if shard is not None:
        commands |= _merging(name, Shard.parse(shard), results)
    for command_line, what in commands.items():
        click.echo(f"  {command_line:<{width}}   {what}")


def _again(report: RunReport, resume: str) -> dict[str, str]:
    """Return the commands that repeat failed cells and crashed searches."""
    commands = {}
    if report.cells_failed:
        commands[resume] = f"the cells that failed ({report.cells_failed:,}), once more"
    if report.crashed and "--retry" not in resume:
        commands[f"{resume} --retry crashed"] = f"the searches that crashed ({report.crashed:,}), once more"
    return commands


def _merging(name: str, shard: Shard, results: Path) -> dict[str, str]:
    """Return the command that merges a shard's record with the others."""
    whole = shard.whole(results)
    if whole is None:
        return {}
    shards, together = shlex.quote(f"{whole}-shard-"), shlex.quote(str(whole))
    return {f"{name} merge {shards}*-of-{shard.of} --results {together}": "one record of all shards, as they end"}
