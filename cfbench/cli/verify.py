"""``cfbench verify``: judge a record's results again, and run a sample of its searches again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cfbench.cli.options import Sources, count_cells, own_model_options, source_options, tell
from cfbench.text import plural

SHOWN = 20
"""So many faults are listed; the others are counted."""


@click.command("verify", short_help="Judge a record's results again, and repeat some searches.")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--sample", type=click.IntRange(min=0), default=20, show_default=True, help="Searches to run again, at random."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of that choice.")
@own_model_options
@source_options
def command(directory: Path, sample: int, seed: int, models: tuple[str, ...], sources: Sources) -> None:
    """Verify the record in DIRECTORY, a packed one included; nothing in it is changed.

    Every counterfactual is judged again: is it feasible, does the model put it into the target class, are its loss and
    its parts what the record says? What boards read is compared with the searches. Then a random sample of the
    searches is run again, and must give the same rows, and the metrics of their cells the same values. Exits with 1
    where anything is not as the record says, or cannot be told; results on data that may not be passed on, whose table
    is not at hand, are counted and excused.
    """
    from cfbench.caches import cache_dir
    from cfbench.record.store import Record
    from cfbench.running.verify import verify_record
    from cfbench.running.worker import Worker, WorkerSetup

    registry = sources.registry((), models)
    setup = WorkerSetup(registry.options, sources.data(), cache_dir())
    worker = Worker(setup, registry, told=lambda sentence: tell("Note", sentence))
    with Record.open(directory) as record:
        found = verify_record(record, worker, registry, sample=sample, seed=seed, progress=count_cells)
        waiting = len(record.pending())
    click.echo(
        f"{found.searches:,} searches in {found.cells:,} cells: {found.judged:,} counterfactuals judged again, "
        f"{plural(found.ran_again, 'search')} run again, {plural(found.measured_again, 'cell')} measured again"
    )
    if found.bare:
        click.echo(f"{found.bare:,} counterfactuals are kept without their rows: only running them again can tell")
    if found.not_run_here:
        click.echo(
            f"{plural(found.not_run_here, 'search')} were not run here: their results were judged again, and nothing "
            "can tell how they were found, or how many seconds and queries they took"
        )
    if waiting:
        click.echo(f"{plural(waiting, 'cell')} with searches that wait to be finished, which were not looked at")
    for reason, count in found.withheld.most_common():
        tell("Warning", f"{plural(count, 'search')} could not be looked at: {reason}")
    for reason, count in found.unverified.most_common(SHOWN):
        tell("Not verified", f"{plural(count, 'search')}: {reason}")
    if len(found.unverified) > SHOWN:
        click.echo(f"Not verified: and {len(found.unverified) - SHOWN:,} more reasons", err=True)
    for fault in found.faults[:SHOWN]:
        tell("Wrong", fault)
    if len(found.faults) > SHOWN:
        click.echo(f"Wrong: and {len(found.faults) - SHOWN:,} more", err=True)
    click.echo(
        f"{len(found.faults):,} are not as the record says; "
        f"{plural(sum(found.unverified.values()), 'search')} could not be verified"
    )
    if not found.searches:
        tell("Not verified", f"{directory} holds no finished search")
    if not found.is_sound:
        sys.exit(1)
