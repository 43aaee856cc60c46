"""A whole record as one data frame, for notebooks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.record.record import Record

if TYPE_CHECKING:
    import pandas as pd


def load_record(path: Path | str) -> pd.DataFrame:
    """Read all searches of all finished cells of a record into one data frame.

    Files that cannot be read are named in warnings and left out. Cells that were never finished are left out as well:
    a first part of a cell's points is no sample of them.

    Parameters
    ----------
    path : path
        The results directory.

    Returns
    -------
    DataFrame
        The cell's key and coordinates (`dataset`, `model`, `searcher`, `objective`, `constraints`, `fold`), then the
        other columns of the record's schema, in the order of the cells' coordinates.
    """
    with Record.open(Path(path)) as record:
        frame = record.all_searches()
    for problem in record.problems:
        warnings.warn(problem, stacklevel=2)
    return frame
