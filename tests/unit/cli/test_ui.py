from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cfbench.cli import main
from cfbench.cli.ui import answer, check_port, study_pages
from cfbench.errors import UnavailableError
from cfbench.record.store import Record
from cfbench.tracking.addresses import remember_tracking

pytestmark = pytest.mark.slow

StartUi = Callable[[Path, int], AbstractContextManager[subprocess.Popen[str]]]


@pytest.fixture(autouse=True)
def _no_ambient_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An empty record."""
    Record.open(tmp_path / "results", write=True).close()
    return tmp_path / "results"


def _ui(results: Path, *options: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ui", "--results", str(results), *options])
    return int(ended.value.code or 0)


def _children(pid: int) -> list[int]:
    listing = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(int(number) for number in line.split()) for line in listing.splitlines()]
    direct = [child for child, parent in pairs if parent == pid]
    return direct + [grandchild for child in direct for grandchild in _children(child)]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_it_serves_the_store_until_it_is_told_to_stop(
    tracked_results: Path, start_ui: StartUi, free_port: Callable[[], int]
) -> None:
    port = free_port()
    with start_ui(tracked_results, port) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "quick in the MLflow UI:\n"
        pages = [process.stdout.readline() for _ in range(3)]
        assert [page.rpartition("  ")[0].strip() for page in pages] == [
            "summary, a table",
            "summary, charts",
            "runs, one per cell",
        ]
        servers, views = zip(
            *(page.strip().rpartition("  ")[2].split("/#/experiments/") for page in pages), strict=True
        )
        server = f"http://127.0.0.1:{port}"
        assert set(servers) == {server}
        (summary, table), (same, charts), (number, runs) = (view.split("/") for view in views)
        assert summary == same != number
        assert table == "runs?workflowType=machine_learning&viewStateShareKey=table"
        assert charts == "runs?workflowType=machine_learning&compareRunsMode=CHART&viewStateShareKey=charts"
        assert runs == "runs?workflowType=machine_learning&viewStateShareKey=cells"
        assert process.stdout.readline() == "Ctrl-C stops it\n"
        assert [run["info"]["run_name"] for run in _search_runs(server, summary)] == ["cogs"]
        found = _search_runs(server, number)
        assert sorted(run["info"]["run_name"] for run in found) == [
            "cogs housing random-forest none f0",
            "cogs wine random-forest none f0",
        ]
        started = _children(process.pid)
        assert len(started) == 2, "one that starts the server, and the server with one worker"
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        assert process.stderr.read().endswith("Stopped\n")
    assert not any(_is_alive(pid) for pid in started)
    check_port(port)  # is free again


def test_it_listens_on_loopback_alone(runs_page: str) -> None:
    port = urlsplit(runs_page).port
    assert port is not None
    socket.create_connection(("127.0.0.1", port), timeout=300).close()
    with pytest.raises(OSError):  # noqa: PT011 - refused here, unreachable on other systems
        socket.create_connection(("127.0.0.2", port), timeout=1).close()


def _search_runs(server: str, experiment: str) -> list[dict[str, dict[str, str]]]:
    request = urllib.request.Request(
        f"{server}/api/2.0/mlflow/runs/search",
        data=json.dumps({"experiment_ids": [experiment]}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as response:
        return list(json.load(response)["runs"])


def test_a_port_in_use_is_an_error_that_names_a_free_one(
    tracked_results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert _ui(tracked_results, "--port", str(port)) == 1
        message = capsys.readouterr().err
        assert f"port {port} is in use" in message
        free = int(message.partition("; port ")[2].split()[0])
        assert free != port
        check_port(free)


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_a_port_that_is_none(tracked_results: Path, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ui(tracked_results, "--port", port) == 2
    assert "--port" in capsys.readouterr().err


def test_a_server_that_cannot_serve_says_why(
    results: Path, free_port: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "mlflow.db").write_bytes(b"no database" * 1000)
    remember_tracking(results, "quick", f"sqlite:///{results}/mlflow.db")
    assert _ui(results, "--port", str(free_port())) == 1
    message = capsys.readouterr().err
    assert "the MLflow server ended before it responded" in message
    assert "file is not a database" in message


def test_a_study_that_is_tracked_to_a_server_starts_none(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remember_tracking(results, "quick", "http://127.0.0.1:1")
    assert _ui(results) == 0
    output = capsys.readouterr()
    assert output.out == "quick is tracked to a server:\n  http://127.0.0.1:1\n"
    assert "it does not respond now" in output.err


@pytest.mark.parametrize("address", ["", "sqlite:////nowhere/mlflow.db"])
def test_nothing_to_look_at(results: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ui(results) == 1
    assert "was not tracked; `cfbench sync --results" in capsys.readouterr().err
    remember_tracking(results, "quick", address)
    assert _ui(results) == 1
    assert "`cfbench sync --results" in capsys.readouterr().err


def test_a_port_for_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> socket.socket:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)  # who runs the tests may be allowed to listen anywhere
    with pytest.raises(UnavailableError, match="1024 or more"):
        check_port(80)


def test_what_does_not_answer_is_no_answer(silent_port: int) -> None:
    assert answer(f"http://127.0.0.1:{silent_port}/health", seconds=0.1) is None
    assert answer("http://127.0.0.1:1/health") is None
    assert study_pages("http://127.0.0.1:1", "quick") == []


@pytest.fixture
def silent_port() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
