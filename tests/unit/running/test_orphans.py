"""Workers end with the process that started them, even one that is killed outright."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LONGEST = 300.0
"""Seconds after which a worker counts as one that lives on; it takes milliseconds."""

BUSY = """
import os, threading

with open(os.environ["CFBENCH_TEST_PIPE"], "wb", buffering=0) as pipe:
    pipe.write(b"busy")
    threading.Event().wait()
"""

STARTS_A_WORKER = """
import os, sys
from pathlib import Path

from cfbench.registry.contracts import DataSource
from cfbench.running.executors.local import Job, ProcessExecutor
from cfbench.running.worker import WorkerSetup
from cfbench.registry.registry import RegistryOptions

if __name__ == "__main__":
    cache = Path(sys.argv[2])
    setup = WorkerSetup(RegistryOptions(plugins=(sys.argv[1],)), DataSource((), cache, download=False), cache)
    ProcessExecutor(setup, 1).submit(0, Job("prepare", ())).result()
"""


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    pipe, busy, starter = tmp_path / "pipe", tmp_path / "busy.py", tmp_path / "starter.py"
    os.mkfifo(pipe)
    busy.write_text(BUSY)
    starter.write_text(STARTS_A_WORKER)
    (tmp_path / "cache").mkdir(mode=0o700)
    environment = {**os.environ, "CFBENCH_TEST_PIPE": str(pipe)}
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    command = [sys.executable, str(starter), str(busy), str(tmp_path / "cache")]
    with subprocess.Popen(command, env=environment) as parent:
        try:
            assert select.select([reader], [], [], LONGEST)[0], "the worker never came up"
            assert os.read(reader, 4) == b"busy"
            parent.kill()
            parent.wait()
            # The pipe is at its end when nobody can write to it any more.
            assert select.select([reader], [], [], LONGEST)[0], "the worker lives on"
            assert os.read(reader, 1) == b""
        finally:
            parent.kill()
            os.close(reader)
