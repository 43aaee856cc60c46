"""``cfbench run``: run a study, resume it, show its leaderboard."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.invocation import command_name
from cfbench.cli.run_options import run_options, session_from_options
from cfbench.cli.sync import REPORTER
from cfbench.cli.telling import tell

if TYPE_CHECKING:
    from cfbench.harness.run_report import RunReport


@click.command("run", short_help="Run a study and show its leaderboard.")
@run_options
def command(**options: Any) -> None:
    """Run a study and show its leaderboard.

    What the record already holds is not run again: the same command resumes an interrupted run, and more points or
    repetitions run only what is missing. `cfbench plan` with the same options shows what that is.
    """
    from cfbench.harness.store.record import Record
    from cfbench.leaderboard import print_leaderboard

    session = session_from_options(options)
    results = session.plan.study.results
    with Record.open(results, write=True) as record:
        resume = shlex.join([command_name(), *sys.argv[1:]])
        report = session.run(record, retry=options["retry"], resume=resume)
        for problem in record.problems:  # what was found damaged when it was read
            tell("Warning", problem)
        if not report.interrupted:
            print_leaderboard(record, session.registry)
    _epilogue(report, tracking=session.tracking, results=results)
    if report.interrupted:
        sys.exit(130)
    if report.failures:
        sys.exit(1)


def _epilogue(report: RunReport, *, tracking: str, results: Path) -> None:
    for failure in report.failures:
        tell("Failed", failure)
    for complaint in report.complaints:
        tell("Warning", complaint)
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
    if tracking and any(complaint.startswith(f"{REPORTER}:") for complaint in report.complaints):
        hints["sync"] = "logs to MLflow what tracking missed"
    for subcommand, what in hints.items():
        click.echo(f"  {f'{name} {subcommand}{option}':<{len(name) + len(option) + 13}}   {what}")
