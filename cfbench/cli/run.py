"""``cfbench run``: run a study, resume it, show its leaderboard."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.invocation import command_name
from cfbench.cli.options import data_dir_option, plugin_option, strict_option
from cfbench.cli.study_options import study_from_options, study_options
from cfbench.harness.sources import data_source

if TYPE_CHECKING:
    from cfbench.harness.runner import RunReport


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
    from cfbench.harness.session import Session, check_statuses
    from cfbench.harness.store.record import Record
    from cfbench.leaderboard.terminal import print_leaderboard

    check_statuses(retry)
    registry, study = study_from_options(options, plugins=plugins, strict=strict)
    session = Session.prepare(study, registry, data_source(data_dirs))
    with Record.open(study.results, write=True) as record:
        report = session.run(record, retry=retry, resume=shlex.join([command_name(), *sys.argv[1:]]))
        for problem in record.problems:  # what was found damaged when it was read
            click.echo(f"Warning: {problem}", err=True)
        if not report.interrupted:
            print_leaderboard(record, registry)
    _epilogue(report, tracking=session.tracking, results=study.results)
    if report.interrupted:
        sys.exit(130)
    if report.failures:
        sys.exit(1)


def _epilogue(report: RunReport, *, tracking: str, results: Path) -> None:
    for failure in report.failures:
        click.echo(f"Failed: {failure}", err=True)
    for complaint in report.complaints:
        click.echo(f"Warning: {complaint}", err=True)
    if report.interrupted:
        return
    from cfbench.harness.tracking import shown_address

    option = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    click.echo()
    if tracking:
        click.echo(f"Tracking  {shown_address(tracking)}")
    click.echo("Go on with")
    name = command_name()
    hints = {"leaderboard": "the board again, filtered as you like"}
    hints |= {"ui": "every run in the MLflow UI"} if tracking else {"measure": "further metrics, without any search"}
    for subcommand, what in hints.items():
        click.echo(f"  {f'{name} {subcommand}{option}':<{len(name) + len(option) + 13}}   {what}")
    if report.complaints and tracking:
        click.echo(f"  {name} sync{option}   logs what tracking missed")
