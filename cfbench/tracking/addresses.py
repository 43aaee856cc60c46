"""Where a record is mirrored to: the tracking address of a study, and what the results directory remembers of it.

Nothing here imports mlflow: an address is a string until the tracking reporter opens it.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from cfbench.errors import RecordError, TrackingError
from cfbench.files import write_atomically
from cfbench.record.files import explained, refuse_device

STORE_NAME = "mlflow.db"
"""File name of the default store, in the results directory."""
ARTIFACTS_NAME = "mlflow-artifacts"
"""Folder next to a local store that holds its artifacts."""
REMEMBERED_NAME = "tracking.json"
"""File in the results directory that names the study and its tracking address."""

SUMMARY_TAG = "cfbench.summary"
"""Tag of a study's MLflow experiment: the identifier of the experiment that holds its summary."""
VIEW_TAG_PREFIX = "mlflow.sharedViewState."
"""Begins the names of the tags that hold views of the MLflow UI; the rest is the view's key in addresses."""
TABLE_VIEW = "table"
"""Key of the view that shows a summary as a table."""
CHART_VIEW = "charts"
"""Key of the view that shows a summary as charts."""
CELL_VIEW = "cells"
"""Key of the view of a study's own experiment, with one run per cell."""

_SQLITE = re.compile(r"(?P<scheme>sqlite(\+\w+)?:///)(?P<path>[^?]+)(?P<query>\?.*)?")
_USER = re.compile(r"(?<=://)[^/?#]*@")


@dataclass(frozen=True)
class Remembered:
    """What a results directory knows of its mirror.

    The `study` is the one that ran last, and its MLflow experiment; `tracking` is empty if it was not tracked.
    """

    study: str
    tracking: str


def tracking_address(configured: str, results: Path) -> str:
    """Return the address of the tracking store, with an absolute path if it is an SQLite file; empty for no tracking.

    `configured` is an MLflow tracking address, ``none`` for no tracking, or empty for the default:
    ``MLFLOW_TRACKING_URI`` if that is set, else an SQLite file in `results`, for which TrackingError is raised if the
    path cannot stand in an SQLite address.
    """
    if configured == "none":
        return ""
    address = configured or os.environ.get("MLFLOW_TRACKING_URI", "") or _default_store(results)
    return _resolved(address, Path.cwd())


def sqlite_path(address: str) -> Path | None:
    """Return the file of an SQLite address; None for every other address."""
    match = _SQLITE.fullmatch(address)
    return Path(match["path"]) if match else None


def shown_address(address: str) -> str:
    """Return `address` without the user name and the password it may carry: fit for messages and files."""
    return _USER.sub("", address)


def remember_tracking(results: Path, study: str, address: str) -> None:
    """Write down the study and its tracking address, for ``cfbench sync`` and ``cfbench ui``.

    Credentials are left out. An SQLite file inside `results` is written as a relative path: the directory may move.
    """
    address = shown_address(address)
    database, home = sqlite_path(address), results.resolve()
    if database is not None and database.is_relative_to(home):
        address = _at(address, database.relative_to(home))
    text = json.dumps({"study": study, "tracking": address}, indent=2, ensure_ascii=False) + "\n"
    path = results / REMEMBERED_NAME
    with explained(path, "written"):
        write_atomically(path, text.encode())


def remembered_tracking(results: Path) -> Remembered | None:
    """Read what :func:`remember_tracking` wrote; None where no study was ever run into `results`.

    Credentials come back where ``MLFLOW_TRACKING_URI`` names the same store.

    Raises RecordError if the file says something else.
    """
    source = results / REMEMBERED_NAME
    try:
        refuse_device(source)
        content = json.loads(source.read_text(encoding="utf-8"))
        study, address = content["study"], content["tracking"]
        if not (isinstance(study, str) and isinstance(address, str)):
            raise TypeError("study and tracking must be strings")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f'{source} is unreadable ({error}); it should hold {{"study": NAME, "tracking": ADDRESS}}. Delete it and '
            "run `cfbench sync` with --study and --tracking"
        ) from error
    ambient = os.environ.get("MLFLOW_TRACKING_URI", "")
    if ambient and shown_address(ambient) == address:
        address = ambient
    return Remembered(study, _resolved(address, results.resolve()))


def _default_store(results: Path) -> str:
    path = str(results.resolve() / STORE_NAME)
    if "?" in path or "%" in path:
        raise TrackingError(
            f"the results directory {str(results.resolve())!r} has a '?' or a '%' in its path, which an SQLite address "
            "reads as something else; choose another directory, name a store with --tracking, or track nothing with "
            "--tracking none"
        )
    return f"sqlite:///{path}"


def _resolved(address: str, folder: Path) -> str:
    path = sqlite_path(address)
    if path is None or path.is_absolute() or str(path).startswith(":"):
        return address
    return _at(address, folder / path)


def _at(address: str, path: Path) -> str:
    match = _SQLITE.fullmatch(address)
    assert match is not None
    return f"{match['scheme']}{path}{match['query'] or ''}"
