"""Opening an MLflow tracking store, quickly, quietly, and with errors that say what to do.

mlflow is imported here and in :mod:`cfbench_reporters.mirror`, inside functions: every command loads the reporters, few
use them.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cfbench.errors import TrackingError
from cfbench.tracking import shown_address, sqlite_path

_ALWAYS = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_WHILE_TALKING = {
    # By itself MLflow tries a silent server for a quarter of an hour; the run would stand still for as long.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",  # a server may ask for a day
    # It prints two lines per run to stdout, where the leaderboard goes.
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",  # a bar a file, on stderr
}
_SYNC = "Nothing of the record is lost: `cfbench sync` logs what is missing when the store answers"
_NOISY = ("mlflow", "alembic", "urllib3")  # migrations, retries and tracebacks; what matters is raised as well


class ForeignAnswerError(Exception):
    """A response that is not MLflow's, or an error; its message is for the reader."""


class UnfitFileError(ValueError):
    """A run's file is unavailable, and why; the rest of the store may be intact."""


@contextlib.contextmanager
def talking_to(address: str, advice: str = _SYNC) -> Iterator[None]:
    """Use MLflow on the store at `address`: short timeouts, no log lines, one kind of error.

    What the user has set in the environment stays as it is. Everything is put back at the end.

    `advice`: how to go on, for the error.

    Raises
    ------
    TrackingError
        Whatever goes wrong inside, except that a file is unfit.
    """
    for name, value in _ALWAYS.items():
        os.environ.setdefault(name, value)
    added = {name: value for name, value in _WHILE_TALKING.items() if name not in os.environ}
    os.environ.update(added)
    try:
        import mlflow.tracking  # noqa: F401 - sets the levels of its loggers, which would undo ours

        with _silenced():
            yield
    except (TrackingError, UnfitFileError):
        raise
    except Exception as error:  # mlflow lets errors of requests, SQLAlchemy, drivers and its own through
        raise TrackingError(_explained(error, address, advice)) from error
    finally:
        for name in added:
            os.environ.pop(name, None)


def open_client(address: str, *, make: bool = True) -> Any:
    """Return an ``MlflowClient`` of the store at `address`; MLflow's global tracking address is left alone.

    To be called inside :func:`talking_to`.

    `make`: whether an SQLite file that is not there is made; otherwise it is an error.
    """
    from mlflow.tracking import MlflowClient

    path = sqlite_path(address)
    if address.startswith("sqlite") and (path is None or str(path).startswith(":")):
        raise TrackingError(
            f"{address!r} names no file, so nothing would be kept; write sqlite:///FILE, or track nothing with "
            "--tracking none"
        )
    if address.startswith("file:") or ("://" not in address and not address.startswith("databricks")):
        raise TrackingError(
            f"{address!r} is read as a folder, which MLflow 3 no longer tracks to; write the address of an SQLite "
            "file, as in sqlite:///mlflow.db, or of a server, http://HOST:PORT"
        )
    if path is not None and not path.exists():
        if not make:
            raise TrackingError(f"there is no tracking store {address}: no such file")
        _make_sqlite_store(path)
    elif "://" in address and not address.startswith("http"):
        _try_database(address)
    return MlflowClient(tracking_uri=address)


def _make_sqlite_store(path: Path) -> None:
    """Build the store next to its place and then move it there.

    A migration that is interrupted, or that two processes do at once, leaves a database that no MLflow opens again.
    """
    from mlflow.tracking import MlflowClient

    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    _try_database(f"sqlite:///{draft}")
    try:
        MlflowClient(tracking_uri=f"sqlite:///{draft}")
        with contextlib.suppress(FileExistsError):  # another process was faster: its store is as good
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _try_database(address: str) -> None:
    """Open the database once: MLflow by itself repeats what cannot succeed for two minutes."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import NoSuchModuleError

    try:
        engine = create_engine(address)
    except NoSuchModuleError:
        raise TrackingError(
            f"{shown_address(address)} names no kind of store that MLflow tracks to; write http://HOST:PORT for a "
            "server, or the address of a database, as in sqlite:///mlflow.db"
        ) from None
    try:
        with engine.connect():
            pass
    finally:
        engine.dispose()


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in _NOISY}
    try:
        for name in _NOISY:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _explained(error: BaseException, address: str, advice: str) -> str:
    shown = shown_address(address)
    if "out-of-date database schema" in str(error):
        return (
            f"the tracking store {shown} was made by another version of MLflow; back it up and run "
            f"`mlflow db upgrade {shown}`, or name another store with --tracking"
        )
    if isinstance(error, ModuleNotFoundError):
        return (
            f"the tracking store {shown} needs the driver {error.name!r}, which is not installed; install it, or name "
            "another store with --tracking"
        )
    cause = error
    while not isinstance(cause, ForeignAnswerError) and (cause.__cause__ or cause.__context__) is not None:
        cause = cause.__cause__ or cause.__context__ or cause
    reason = " ".join(str(cause).replace(address, shown).split())[:300] or type(cause).__name__
    return f"the tracking store {shown} cannot be used: {reason}. {advice}"
