"""``cfbench run``: run a study, resume it, show its leaderboard."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import data_dir_option, data_source, open_registry, plugin_option, strict_option
from cfbench.cli.study_options import study_from_options, study_options
from cfbench.errors import UnknownNameError
from cfbench.outcome import Status

if TYPE_CHECKING:
    from cfbench.harness.executors import Executor
    from cfbench.harness.plan import Plan
    from cfbench.harness.runner import RunReport
    from cfbench.harness.worker import WorkerSetup
    from cfbench.registry import Registry


@click.command("run", short_help="Run a study and show its leaderboard.")
@study_options
@click.option(
    "--retry",
    "retry",
    multiple=True,
    metavar="STATUS",
    help="Run searches again that ended with this status (crashed, timed_out, ...). May be repeated.",
)
@data_dir_option
@plugin_option
@strict_option
def command(
    retry: Sequence[str], data_dirs: Sequence[Path], plugins: Sequence[str], strict: bool, **options: Any
) -> None:
    """Run a study and show its leaderboard.

    What the record already holds is not run again: the same command resumes an interrupted run, and more points or
    repetitions run only what is missing.
    """
    from cfbench.harness.plan import make_plan
    from cfbench.harness.record import Record
    from cfbench.harness.tracking import remember_tracking, tracking_address
    from cfbench.leaderboard.terminal import print_leaderboard

    for status in retry:
        if status not in set(Status):
            raise UnknownNameError("status", status, [known.value for known in Status])
    registry, study = study_from_options(options, plugins=plugins, strict=strict)
    source = data_source(data_dirs)
    plan = make_plan(study, registry, source)
    tracking = tracking_address(study.tracking, study.results)
    with Record.open(study.results, write=True) as record:
        for problem in record.problems:
            click.echo(f"Warning: {problem}", err=True)
        remember_tracking(study.results, study.name, tracking)
        report = _run(plan, record, registry, source, tracking=tracking, retry=retry)
        if not report.interrupted:
            print_leaderboard(record, registry)
    _epilogue(report, tracking=tracking, results=study.results)
    if report.interrupted:
        sys.exit(130)
    if report.cells_failed:
        sys.exit(1)


def _run(plan: Plan, record: Any, registry: Registry, source: Any, *, tracking: str, retry: Sequence[str]) -> RunReport:
    from cfbench.harness.caches import cache_dir
    from cfbench.harness.runner import Run
    from cfbench.harness.worker import WorkerSetup

    setup = WorkerSetup(registry.options, source, cache_dir())
    return Run(
        plan,
        record,
        registry,
        executor_for(plan, setup, registry),
        metrics=plan.metrics,
        tracking=tracking,
        retry=retry,
        resume=shlex.join(["cfbench", *sys.argv[1:]]),
    ).go()


def executor_for(plan: Plan, setup: WorkerSetup, registry: Registry) -> Executor:
    """Return the executor that a study asks for: this process for one worker without time limits, else processes."""
    from cfbench.harness.executors import ProcessExecutor, SerialExecutor
    from cfbench.harness.worker import Worker

    limited = any(cell.time_limit is not None for cell in plan.cells)
    if plan.study.workers == 1 and not limited:
        return SerialExecutor(Worker(setup, registry))
    return ProcessExecutor(setup, plan.study.workers)


def _epilogue(report: RunReport, *, tracking: str, results: Path) -> None:
    for failure in report.failures:
        click.echo(f"Failed: {failure}", err=True)
    for complaint in report.complaints:
        click.echo(f"Warning: {complaint}", err=True)
    if report.interrupted:
        return
    option = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    click.echo()
    if tracking:
        click.echo(f"Tracking  {tracking}")
    click.echo("Go on with")
    click.echo(f"  cfbench leaderboard{option}   the board again, sorted and filtered as you like")
    if tracking:
        click.echo(f"  cfbench ui{option}            every run in the MLflow UI")
    else:
        click.echo(f"  cfbench measure{option}       further metrics, without any search")
