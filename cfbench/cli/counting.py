"""A count of cells while somebody waits."""

from __future__ import annotations

import sys

import click


def count_cells(done: int, cells: int) -> None:
    """Count cells where somebody watches, on one line of stderr that what follows then replaces."""
    if sys.stderr.isatty():
        click.echo("\r\x1b[K" if done == cells else f"\rcell {done + 1} of {cells}", err=True, nl=False)
