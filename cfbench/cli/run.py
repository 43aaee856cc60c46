"""``cfbench run``: run a study, resume it, show its leaderboard."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.invocation import command_name, this_command
from cfbench.cli.run_options import run_options, session_from_options
from cfbench.cli.sync import REPORTER
from cfbench.cli.telling import tell

if TYPE_CHECKING:
    from cfbench.harness.run_report import RunReport
    from cfbench.harness.shard import Shard


@click.command("run", short_help="Run a study and show its leaderboard.")
@run_options
def command(**options: Any) -> None:
    """Run a study and show its leaderboard.

    What the record already holds is not run again: the same command resumes an interrupted run, and more points or
    repetitions run only what is missing. `cfbench plan` with the same options shows what that is.
    """
    from cfbench.harness.interrupt import EXIT_CODE
    from cfbench.harness.store.record import Record
    from cfbench.leaderboard import print_leaderboard

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
    _epilogue(report, tracking=session.tracking, results=results, resume=resume, shard=options["shard"])
    if report.interrupted:
        sys.exit(EXIT_CODE)
    if report.failures:
        sys.exit(1)


def _epilogue(report: RunReport, *, tracking: str, results: Path, resume: str, shard: str | None) -> None:
    for failure in report.failures:
        tell("Failed", failure)
    for complaint in report.complaints:
        tell("Warning", complaint)
    if report.interrupted:
        return
    from cfbench.harness.shard import Shard
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
    commands = {f"{name} {subcommand}{option}": what for subcommand, what in hints.items()}
    width = max(map(len, commands))
    commands |= _again(report, resume)
    if shard is not None:
        commands |= _merging(name, Shard.parse(shard), results)
    for command_line, what in commands.items():
        click.echo(f"  {command_line:<{width}}   {what}")


def _again(report: RunReport, resume: str) -> dict[str, str]:
    """Say how to run again what has not ended as it should."""
    commands = {}
    if report.cells_failed:
        commands[resume] = f"the cells that failed ({report.cells_failed:,}), once more"
    if report.crashed and "--retry" not in resume:
        commands[f"{resume} --retry crashed"] = f"the searches that crashed ({report.crashed:,}), once more"
    return commands


def _merging(name: str, shard: Shard, results: Path) -> dict[str, str]:
    """Say how a shard's record joins the others."""
    whole = shard.whole(results)
    if whole is None:
        return {}
    shards, together = shlex.quote(f"{whole}-shard-"), shlex.quote(str(whole))
    return {f"{name} merge {shards}*-of-{shard.of} --results {together}": "one record of all shards, as they end"}
