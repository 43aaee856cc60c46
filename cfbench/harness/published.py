"""The published record that comes with cfbench."""

from __future__ import annotations

from pathlib import Path

import cfbench
from cfbench.errors import UnavailableError
from cfbench.harness.store.layout import PACKED_NAME


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
