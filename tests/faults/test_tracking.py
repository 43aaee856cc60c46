"""Tracking that dies, hangs or fails in the middle of a run, and a store that somebody else has locked."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from tests.faults.studies import Study

pytestmark = pytest.mark.slow

FAULTS = ("dies", "hangs", "answers 500")


class Between:
    """A server between a run and a real MLflow server, which works until the second cell is logged.

    `behind` is the real server's address.
    """

    def __init__(self, behind: str, fault: str) -> None:
        self.fault = fault
        self.broken = threading.Event()
        self.over = threading.Event()
        between, created = self, []

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.endswith("/runs/create"):
                    created.append(self.path)
                    if len(created) == 2:
                        between.broken.set()
                if between.broken.is_set():
                    between.fail(self)
                    return
                there = http.client.HTTPConnection(urlsplit(behind).netloc, timeout=60)
                there.request(self.command, self.path, body, {**self.headers, "Host": urlsplit(behind).netloc})
                answer = there.getresponse()
                content = answer.read()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type", ""))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                there.close()

            do_GET = do_POST = do_PUT = do_PATCH = handle_any  # noqa: N815 - as the library calls them

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def fail(self, request: BaseHTTPRequestHandler) -> None:
        if self.fault == "hangs":
            self.over.wait()
        elif self.fault == "answers 500":
            request.send_error(500)
        else:
            self._server.socket.close()
        request.close_connection = True

    def end(self) -> None:
        self.over.set()
        with contextlib.suppress(OSError):
            self._server.shutdown()
            self._server.server_close()


@pytest.fixture
def between(request: pytest.FixtureRequest, runs_page: str) -> Iterator[Between]:
    """Return a server in front of the real one, with the fault that the test asks for."""
    server = Between(runs_page.partition("/#/")[0], request.param)
    yield server
    server.end()


@pytest.mark.parametrize("between", FAULTS, indirect=True)
def test_a_tracking_server_that_fails_in_the_middle_costs_one_message(
    study: Study, between: Between, runs_page: str
) -> None:
    study.folds = (0, 1, 2)
    whole = study.undisturbed()
    study.tracking = between.address
    study.environment = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "1"}  # ten seconds by itself
    code, said = study.run()
    assert code == 0
    assert between.broken.is_set()
    assert said.count(f"the tracking store {between.address} cannot be used") == 1
    assert "Nothing of the record is lost: `cfbench sync` logs what is missing when the store answers" in said
    assert study.digest() == whole
    behind = runs_page.partition("/#/")[0]
    name = between.fault.replace(" ", "-")
    sync = study.command("sync", "--results", str(study.results), "--tracking", behind, "--study", name)
    assert sync.wait() == 0
    assert _logged_cells(behind, name) == set(whole)


def _logged_cells(address: str, study: str) -> set[str]:
    from mlflow.tracking import MlflowClient

    client: Any = MlflowClient(tracking_uri=address)
    runs = client.search_runs([client.get_experiment_by_name(study).experiment_id])
    return {run.data.tags["cfbench.cell"] for run in runs}


LOCKS = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold an SQLite file locked in another process until the block ends."""
    command = [sys.executable, "-c", LOCKS, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield
        process.kill()


def test_a_locked_sqlite_store_costs_one_message(study: Study, empty_store: Path) -> None:
    study.folds = (0, 1)
    whole = study.undisturbed()
    study.results.mkdir()
    store = Path(shutil.copy(empty_store, study.results / "mlflow.db"))
    study.tracking = f"sqlite:///{store}"
    with locked(store):
        code, said = study.run()
    assert code == 0
    assert "database is locked" in said
    assert "`cfbench sync` logs what is missing" in said
    assert study.digest() == whole
    assert study.command("sync", "--results", str(study.results)).wait() == 0
    with contextlib.closing(sqlite3.connect(store)) as database:
        assert database.execute("SELECT COUNT(DISTINCT value) FROM tags WHERE key = 'cfbench.cell'").fetchone() == (2,)
