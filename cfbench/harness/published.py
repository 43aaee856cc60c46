"""The published record that comes with cfbench, and a record opened alone or next to it."""

from __future__ import annotations

from pathlib import Path

import cfbench
from cfbench.errors import UnavailableError
from cfbench.harness.store.beside import Beside
from cfbench.harness.store.layout import PACKED_NAME
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.record import Record


def published_record() -> Path:
    """Return the folder of the packed record behind the published leaderboard.

    Raises
    ------
    UnavailableError
        If this installation came without it.
    """
    package = Path(cfbench.__file__).parent
    for folder in (package / "published", package.parent / "leaderboard" / "record"):
        if (folder / PACKED_NAME).is_file():
            return folder
    raise UnavailableError(
        "this installation came without the published record; install a released wheel, or work in a checkout, "
        "whose leaderboard/record holds it"
    )


def opened_record(results: Path, *, with_published: bool = False) -> RecordReading:
    """Open a record for reading, alone or next to the published one.

    Raises
    ------
    RecordError
        If there is none, or nothing in it can be compared with the published one.
    UnavailableError
        If this installation came without the published one.
    """
    own = Record.open(results)
    return Beside(own, Record.open(published_record())) if with_published else own
