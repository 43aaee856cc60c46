"""``cfbench pack``: a record in a few small files, to publish it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from cfbench.cli.options import open_registry, plugin_option, results_option, tell


@click.command("pack", short_help="Pack a record into a few small files, to publish it.")
@results_option
@click.option(
    "--output", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of the packed record."
)
@plugin_option
def command(results: Path, output: Path, plugins: Sequence[str]) -> None:
    """Pack the finished cells of a record into OUTPUT, replacing the packed record there.

    A packed record is read like any other: give its folder as --results. For data sets whose rows may not be passed
    on, and for your own folders, it keeps results without rows: no x, z or candidates. Exits with 1 where something
    of the record cannot be read and is left out.
    """
    from cfbench.record.archive import pack_record
    from cfbench.record.store import Record
    from cfbench.registry.events import CellInfo
    from cfbench.study.sources import may_be_passed_on

    registry = open_registry(plugins)
    withheld: set[str] = set()

    def bare(info: CellInfo) -> bool:
        if may_be_passed_on(info.dataset, registry):
            return False
        withheld.add(info.dataset)
        return True

    with Record.open(results) as record:
        packed = pack_record(record, output, bare=bare)
        pending = len(record.pending())
    for problem in record.problems:
        tell("Warning", problem)
    if pending:
        click.echo(f"Warning: unfinished cells, whose missing searches are left out: {pending:,}", err=True)
    size = sum(file.stat().st_size for file in output.iterdir() if file.is_file())
    without = f"; without rows: {', '.join(sorted(withheld))}" if withheld else ""
    click.echo(f"{packed.cells:,} cells packed into {output}, {size / 1e6:.1f} MB{without}")
    if packed.left_out:
        listed = ", ".join(packed.left_out)
        click.echo(f"{len(packed.left_out):,} left out because they cannot be read: {listed}", err=True)
    if record.problems:
        sys.exit(1)
