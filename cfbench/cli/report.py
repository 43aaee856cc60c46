"""``cfbench report NAME``: what a plugin's report renders from a record. It runs and measures nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import (
    Sources,
    command_name,
    results_option,
    shown_lines,
    source_options,
    tell,
)
from cfbench.errors import CfbenchError, PluginError, RecordError

if TYPE_CHECKING:
    from cfbench.analysis.reports import RenderedReport, ReportContext
    from cfbench.registry.entries import ReportEntry


@click.command("report", short_help="Render a report from a record: pages, tables, figures.")
@click.argument("name", metavar="NAME")
@results_option
@click.option("--output", type=click.Path(path_type=Path), help="The folder to write into.  [default: NAME-report]")
@source_options
def command(
    *,
    name: str,
    results: Path,
    output: Path | None,
    sources: Sources,
) -> None:
    """Render a report from a record; `cfbench plugins` lists the reports.

    `cfbench report paper` renders every table and figure of the paper next to the paper's numbers, and gives each claim
    of the paper a verdict. What the record lacks is listed with the commands that add it.
    """
    from cfbench.analysis.reports import ReportContext
    from cfbench.caches import cache_dir
    from cfbench.record.files import no_record_in
    from cfbench.record.store import Record
    from cfbench.running.fitted import FittedModels

    registry = sources.registry()
    entry = registry.report(name).entry
    output = output or Path(f"{name}-report")
    typed = command_name()
    if not results.is_dir():
        steps = "" if entry.first_steps is None else f" {entry.first_steps(results, typed)}"
        raise RecordError(f"{no_record_in(results)}.{steps}")
    check_output(output)
    with Record.open(results) as record:
        source = sources.data(download=False)
        report = render(entry, ReportContext(record, registry, source, FittedModels(cache_dir()), typed))
    written = write(report, output)
    for problem in report.problems:
        tell("Warning", problem)
    if report.said:
        click.echo(f"{shown_lines(report.said)}\n")
    click.echo(f"Wrote {len(written)} files; the page is {written[0]}")


def render(entry: ReportEntry, context: ReportContext) -> RenderedReport:
    """Call a report's function.

    Raises CfbenchError: as the function raises it. Raises PluginError if the function raises anything else, or returns
    anything but a RenderedReport.
    """
    from cfbench.analysis.reports import RenderedReport
    from cfbench.registry.discovery import failure

    try:
        report: object = entry.render(context)
    except CfbenchError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"report {entry.name}: {failure(error)}") from error
    if not isinstance(report, RenderedReport):
        raise PluginError(
            f"report {entry.name}: its function returned {type(report).__name__}; it must return a "
            "cfbench.analysis.RenderedReport"
        )
    return report


def write(report: RenderedReport, output: Path) -> list[Path]:
    """Write a report's files, replacing those of an earlier report; return their paths, the page first.

    Raises CfbenchError if the folder cannot be written.
    """
    from cfbench.files import write_atomically
    from cfbench.record.files import refuse_inside_record

    written = [output / name for name in report.files]
    for path in written:
        refuse_inside_record(path)
    for path, content in zip(written, report.files.values(), strict=True):
        try:
            write_atomically(path, content)
        except OSError as error:
            raise CfbenchError(
                f"{path} cannot be written: {error.strerror or error}; name a folder that you may write to with "
                "--output"
            ) from error
    return written


def check_output(output: Path) -> None:
    """Raise CfbenchError if a folder cannot be written or is in a record, before a report is rendered for minutes."""
    from cfbench.record.files import refuse_inside_record

    refuse_inside_record(output / "any")
    nearest = output
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        why = f"{nearest} is a file"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        why = f"you may not write to {nearest}"
    else:
        return
    raise CfbenchError(f"{output} cannot be written: {why}; name a folder that you may write to with --output")
