"""``cfbench pack``: a record in a few small files, to be published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cfbench.cli.options import open_registry, plugin_option, results_option
from cfbench.cli.telling import tell


@click.command("pack", short_help="Pack a record into a few small files, to be published.")
@results_option
@click.option(
    "--output", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of the packed record."
)
@plugin_option
def command(results: Path, output: Path, plugins: Sequence[str]) -> None:
    """Pack the finished cells of a record into OUTPUT, replacing the packed record there.

    A packed record is read like any other: give its folder as --results. Of data sets whose rows may not be passed on,
    and of folders of your own, the results are kept without the rows: neither x nor z nor candidates.
    """
    from cfbench.events import CellInfo
    from cfbench.harness.store.packed import pack_record
    from cfbench.harness.store.record import Record

    datasets = open_registry(plugins).datasets
    withheld: set[str] = set()

    def bare(info: CellInfo) -> bool:
        found = datasets.get(info.dataset)
        if found is not None and found.entry.shareable and found.entry.folder is None:
            return False
        withheld.add(info.dataset)
        return True

    with Record.open(results) as record:
        pack_record(record, output, bare=bare)
        cells, pending = len(record.summaries()), len(record.pending())
    for problem in record.problems:
        tell("Warning", problem)
    if pending:
        click.echo(f"Warning: unfinished cells, whose waiting searches are left out: {pending:,}", err=True)
    size = sum(file.stat().st_size for file in output.iterdir() if file.is_file())
    without = f"; without rows: {', '.join(sorted(withheld))}" if withheld else ""
    click.echo(f"{cells:,} cells packed into {output}, {size / 1e6:.1f} MB{without}")
