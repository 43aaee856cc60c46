"""``cfbench report paper``: every table and figure of the paper from a record. It runs and measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfbench.cli.options import data_dir_option, open_registry, plugin_option, results_option, strict_option

if TYPE_CHECKING:
    from cfbench.report.page import Report


@click.group("report", short_help="Show a record beside the paper: tables, figures, one page.")
def command() -> None:
    """Render a record for readers."""


@command.command("paper", short_help="Every table and figure of the paper, from a record.")
@results_option
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("paper-report"),
    show_default=True,
    help="The folder to write into.",
)
@data_dir_option
@plugin_option
@strict_option
def paper(*, results: Path, output: Path, data_dirs: Sequence[Path], plugins: Sequence[str], strict: bool) -> None:
    """Render every table and figure of the paper from a record.

    Ours stand beside the paper's numbers, and each claim of the paper gets a verdict. What the record lacks is listed
    with the commands that add it; the rest is rendered. Writes a page that needs nothing but itself, tables as markdown
    and CSV, figures as SVG and PNG.
    """
    from cfbench.caches import cache_dir
    from cfbench.cli.options import command_name
    from cfbench.errors import RecordError
    from cfbench.record.files import no_record_in
    from cfbench.record.store import Record
    from cfbench.report.gaps import first_commands
    from cfbench.report.page import check_output, make_report, write_report
    from cfbench.running.fitted import FittedModels
    from cfbench.study.sources import data_source

    name = command_name()
    if not results.is_dir():
        raise RecordError(f"{no_record_in(results)}. {first_commands(results, name)}")
    check_output(output)
    registry = open_registry(plugins, strict=strict)
    with Record.open(results) as record:
        report = make_report(
            record, registry, data_source(data_dirs, download=False), FittedModels(cache_dir()), command=name
        )
    written = write_report(report, output)
    _show(report)
    click.echo(f"\nWrote {len(written)} files; the page is {written[0]}")


def _show(report: Report) -> None:
    """Say on the terminal what the page begins and ends with: the claims, and what is missing."""
    from cfbench.report.page import headline, lacks
    from cfbench.report.tables import DATASETS, decimal
    from cfbench.text import visible

    for problem in report.problems:
        click.echo(f"Warning: {visible(problem)}", err=True)
    for sentence in report.gaps.coverage:
        click.echo(visible(sentence))
    click.echo(f"\n{headline(report.claims)}")
    width = max(len(one.verdict.value) for one in report.claims)
    for one in report.claims:
        found = one.found
        value = (
            "no value"
            if found is None
            else (f"{decimal(found.mean, 3)} [{decimal(found.low, 3)}, {decimal(found.high, 3)}], n = {found.n}")
        )
        click.echo(
            f"  {one.verdict.value:<{width}}  {one.claim}: {value}, claimed {one.threshold}; the authors: {one.authors}"
        )
        for here in one.local:
            reached = f", goal {one.goal:g}" if one.goal else ""
            click.echo(
                f"  {'':<{width}}    {DATASETS[here.dataset]}: {decimal(here.found.mean, 3)} ± "
                f"{decimal(here.found.half_width, 3)}{reached}, n = {here.found.n}: {here.verdict.value}"
            )
    if report.gaps.measure:
        click.echo(f"\n{lacks(report.gaps)}")
        for line in report.gaps.missing:
            click.echo(f"  {visible(line)}")
        for line in report.gaps.unmeasured:
            click.echo(f"  not measured: {visible(line)}")
        click.echo("Add it with")
        for line in (*report.gaps.run, report.gaps.measure):
            click.echo(f"  {line}")
