"""A local tracking store that was moved or copied with its folder: its artifacts are found beside it again.

MLflow writes down where artifacts are as absolute addresses, so that a copy would go on writing into the original's
folder, and a moved store would find nothing. Here they follow their store.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from cfbench.harness.tracking import ARTIFACTS_NAME, sqlite_path

_PLACES = "SELECT DISTINCT artifact_location FROM experiments WHERE artifact_location LIKE ?"


def follow_moved_store(address: str) -> None:
    """Have the experiments of an SQLite store keep their artifacts in the folder beside it, if they did elsewhere.

    Nothing is changed where that folder is missing and the other one is there: then the file alone was moved.
    Experiments whose artifacts go to a place that somebody chose are left alone, and so is every other store.

    Parameters
    ----------
    address : str
        A tracking address.
    """
    store = sqlite_path(address)
    if store is None or not store.is_file():
        return
    here = store.resolve().parent / ARTIFACTS_NAME
    # What else may be wrong with the file is said by whoever opens it as a store.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(store)) as database, database:
        for (place,) in database.execute(_PLACES, (f"file:///%/{ARTIFACTS_NAME}",)).fetchall():
            there = Path(url2pathname(urlsplit(place).path))
            if there != here and (here.is_dir() or not there.is_dir()):
                _move(database, place, here.as_uri())


def _move(database: sqlite3.Connection, old: str, new: str) -> None:
    database.execute("UPDATE experiments SET artifact_location = ? WHERE artifact_location = ?", (new, old))
    database.execute(
        "UPDATE runs SET artifact_uri = ? || substr(artifact_uri, ?) WHERE substr(artifact_uri, 1, ?) = ?",
        (new, len(old) + 1, len(old) + 1, f"{old}/"),
    )
