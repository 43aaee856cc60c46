"""Threads that a searcher leaves running are noticed, and do not hold up the end of the command."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from cfbench.running.interrupt import noticed_threads, stray_threads

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
    assert stray_threads() == ["left"]
    stop.set()
    for thread in (before, left, daemon):
        thread.join()
    assert stray_threads() == []


def test_a_command_ends_although_a_searcher_left_a_thread(tmp_path: Path) -> None:
    plugin = tmp_path / "leaver.py"
    plugin.write_text(LEAVES_A_THREAD)
    toy = Path(__file__).parents[2] / "toys" / "toy_plugin.py"
    command = [sys.executable, "-c", "from cfbench.cli import main; main()", "explain", "--plugin", str(toy)]
    command += ["--plugin", str(plugin), "--dataset", "toy", "--model", "threshold", "--searcher", "leaver"]
    command += ["--constraints", "off", "--point", "0"]
    environment = {**os.environ, "CFBENCH_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 3
    assert "No counterfactual was found" in done.stdout
    assert "a plugin left threads running, which end with this command: waits for ever" in done.stderr
