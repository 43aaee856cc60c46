"""Threads that a searcher leaves running are named at the end of the command, which waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cfbench.running.interrupt import noticed_threads, unfinished_threads

LEAVES_A_THREAD = """
import threading

from cfbench import SearcherEntry, hookimpl


def search(problem, rng):
    threading.Thread(target=threading.Event().wait, name="waits for ever").start()


@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="leaver", searcher=search, handles=("categorical features",))
"""


def test_only_what_is_left_is_noticed() -> None:
    stop = threading.Event()
    before = threading.Thread(target=stop.wait, name="before")
    before.start()
    with noticed_threads():
        left = threading.Thread(target=stop.wait, name="left")
        left.start()
        daemon = threading.Thread(target=stop.wait, name="daemon", daemon=True)
        daemon.start()
        ended = threading.Thread(target=int, name="ended")
        ended.start()
        ended.join()
    assert unfinished_threads() == ["left"]
    stop.set()
    for thread in (before, left, daemon):
        thread.join()
    assert unfinished_threads() == []


@pytest.mark.slow
def test_a_thread_that_a_searcher_left_is_named_and_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    plugin = tmp_path / "leaver.py"
    plugin.write_text(LEAVES_A_THREAD)
    toy = Path(__file__).parents[2] / "toys" / "toy_plugin.py"
    command = [sys.executable, "-c", "from cfbench.cli import main; main()", "explain", "--plugin", str(toy)]
    command += ["--plugin", str(plugin), "--dataset", "toy", "--model", "threshold", "--searcher", "leaver"]
    command += ["--constraints", "off", "--point", "0"]
    environment = {**os.environ, "CFBENCH_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        warning = next(line for line in process.stderr if line.startswith("Warning"))
        assert "a plugin left threads running, and this command ends only when they do: waits for ever" in warning
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == -signal.SIGINT
        assert "No counterfactual was found" in process.stdout.read()
