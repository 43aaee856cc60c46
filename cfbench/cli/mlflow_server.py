"""An MLflow server for one person, as a child process: started on loopback, waited for, stopped with all it started."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cfbench.errors import TrackingError, UnavailableError
from cfbench.harness.interrupt import SIGNALS

HOST = "127.0.0.1"
START_SECONDS = 120.0
"""A server that has not answered by then will not; five seconds are usual."""
_STOP_SECONDS = 5.0
_OPTIONS = ("--workers", "1", "--uvicorn-opts", "--no-access-log")  # the log is read only when something goes wrong
_SETTINGS = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # eight further processes and 1.9 GB, for jobs that nobody sends
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback is never behind a proxy


class MlflowServer:
    """A running server; use it in a ``with`` block, which stops it.

    Parameters
    ----------
    store : str
        Address of the tracking store that it serves.
    artifacts : Path
        Where it keeps the artifacts of experiments that others make through it; by itself it takes the working
        directory.
    port : int

    Raises
    ------
    UnavailableError
        If the port is taken.
    TrackingError
        If the server ends before it answers, or does not answer.
    """

    def __init__(self, store: str, artifacts: Path, port: int) -> None:
        check_port(port)
        self.address = f"http://{HOST}:{port}"
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - `stop` closes it
        # The store goes by the environment: an address may hold a password, and command lines are public.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), *_OPTIONS],
            env={
                **os.environ,
                **_SETTINGS,
                "MLFLOW_BACKEND_STORE_URI": store,
                "MLFLOW_ARTIFACTS_DESTINATION": str(artifacts),
            },
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches us alone, and the group holds all that the server starts
        )

    def __enter__(self) -> MlflowServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_until_it_answers(self) -> None:
        """Return when the server is healthy."""
        give_up = time.monotonic() + START_SECONDS
        while self._process.poll() is None:
            if answer(f"{self.address}/health") is not None:
                return
            if time.monotonic() > give_up:
                raise TrackingError(f"the MLflow server did not answer within {START_SECONDS:.0f} s; {self._said()}")
            time.sleep(0.1)
        raise TrackingError(f"the MLflow server ended before it answered; {self._said()}")

    def wait_until_it_ends(self) -> None:
        """Return never, as long as the server runs.

        Raises
        ------
        TrackingError
            If it ends by itself.
        """
        self._process.wait()
        raise TrackingError(f"the MLflow server ended; {self._said()}")

    def stop(self) -> None:
        """End the server and every process that it started."""
        with (
            _signals_ignored(),
            contextlib.suppress(ProcessLookupError),
        ):  # a second one would spare it
            os.killpg(self._process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def _said(self) -> str:
        descriptor = self._log.fileno()  # the server writes at the same offset, which therefore stays where it is
        said = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        lines = said.decode("utf-8", "replace").strip().splitlines()
        return "its last lines:\n" + "\n".join(f"  {line}" for line in lines[-8:]) if lines else "it said nothing"


def check_port(port: int) -> None:
    """Refuse a port that cannot be listened on, and name one that can."""
    try:
        _listen(port)
    except PermissionError as error:
        raise UnavailableError(f"port {port} is for the system alone; choose one from 1024 on with --port") from error
    except OSError as error:
        raise UnavailableError(f"port {port} is in use; port {_free_port(port)} is free: --port names it") from error


def answer(url: str, seconds: float = 2.0) -> bytes | None:
    """Return what `url` answers; None where it does not, or with an error."""
    try:
        with _DIRECT.open(url, timeout=seconds) as response:
            return bytes(response.read())
    except (OSError, http.client.HTTPException):  # no connection, an error's status, a broken reply
        return None


@contextlib.contextmanager
def _signals_ignored() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(port: int) -> None:
    socket.create_server((HOST, port)).close()


def _free_port(taken: int) -> int:
    for port in range(taken + 1, min(taken + 100, 2**16)):
        with contextlib.suppress(OSError):
            _listen(port)
            return port
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])
