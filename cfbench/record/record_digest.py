"""What a record says, times aside, in one digest a cell: two runs of one study must agree in all of them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

from cfbench.digests import DIGEST_BYTES
from cfbench.errors import RecordError
from cfbench.record.cells import Cells
from cfbench.record.layout import check_directory
from cfbench.record.lines import pack
from cfbench.record.schema import TIME_COLUMNS
from cfbench.record.tables import StoredCell, rows_of


def record_digest(path: Path) -> dict[str, str]:
    """Return a digest of each finished cell's content: coordinates, settings and rows, without the time columns.

    Parameters
    ----------
    path : Path
        The results directory.

    Returns
    -------
    dict of str to str
        By cell key, in the keys' order.

    Raises
    ------
    RecordError
        If `path` is no record, or the table of a cell cannot be read.
    """
    check_directory(path, write=False)
    problems: list[str] = []
    cells = Cells(path / "cells", problems.append)
    found = {key: cells.read(key) for key in cells.keys()}  # noqa: SIM118 - no mapping: the keys are read from the disk
    if problems:
        raise RecordError("; ".join(problems))
    return {key: _digest(cell[0]) for key, cell in found.items() if cell is not None}


def _digest(cell: StoredCell) -> str:
    state = hashlib.blake2b(pack([asdict(cell.info), cell.content, cell.eligible]), digest_size=DIGEST_BYTES)
    for row in rows_of(cell.table):
        state.update(pack({column: value for column, value in row.items() if column not in TIME_COLUMNS}))
    return state.hexdigest()
