"""Jobs have one thread of every numerical library, wherever they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cfbench.record.store import load_record
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.running.executors.child import THREAD_VARIABLES
from cfbench.running.executors.local import Job
from cfbench.running.worker import WorkerSetup

if TYPE_CHECKING:
    from tests.toys.runs import Toys

FIRST_JOB = """
import json, os
import numpy
from cfbench.running.executors.child import THREAD_VARIABLES
from cfbench.running.executors.local import Job, SerialExecutor

def threads():
    from threadpoolctl import threadpool_info
    return sorted({library["num_threads"] for library in threadpool_info()})

class Worker:
    def look(self):
        import sklearn.neighbors
        return threads(), [os.environ.get(name) for name in THREAD_VARIABLES]

before = threads()
executor = SerialExecutor(Worker())
inside, asked = executor.submit(0, Job("look", ())).result()
executor.close()
after, given_back = threads(), [os.environ.get(name) for name in THREAD_VARIABLES]
print(json.dumps([before, inside, asked, after, given_back]))
"""

ENTRIES = [("model", "threshold"), ("searcher", "toy-dice"), ("objective", "none")]

PROBE = '''
"""A searcher that reports the threads of the libraries that its search has loaded."""

import numpy as np
from cfbench import SearcherEntry, hookimpl


def threads(problem, rng):
    import sklearn.neighbors
    from threadpoolctl import threadpool_info

    problem.report("threads", max(library["num_threads"] for library in threadpool_info()))


@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="threads", searcher=threads, handles=("categorical features",))
'''


@pytest.mark.slow
def test_jobs_in_this_process_have_one_thread_and_the_next_user_has_all() -> None:
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "2")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_JOB], env=environment, capture_output=True, text=True, check=True
    )
    before, inside, asked, after, given_back = json.loads(done.stdout)
    assert inside == [1]
    assert asked == ["1"] * len(THREAD_VARIABLES)
    assert after == before
    assert given_back == ["2"] * len(THREAD_VARIABLES)


@pytest.mark.slow
def test_a_search_in_a_process_of_its_own_has_one_thread(
    toys: Toys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "2")
    probe = tmp_path / "probe.py"
    probe.write_text(PROBE)
    toys.options = RegistryOptions(plugins=(*toys.options.plugins, str(probe)))
    toys.registry = build_registry(toys.options)
    toys.setup = WorkerSetup(toys.options, toys.source, tmp_path / "cache")
    toys.run(tmp_path / "r", toys.processes(1), searchers=("threads",), folds=(0,), points=2, repetitions=1)
    assert load_record(tmp_path / "r")["figures"].tolist() == [{"threads": 1.0}] * 2
    assert all(os.environ[name] == "2" for name in THREAD_VARIABLES)


@pytest.mark.slow
def test_jobs_of_one_slot_wait_for_each_other(toys: Toys) -> None:
    executor = toys.processes(1)
    try:
        several = [executor.submit(0, Job("inventory", (((kind, name),),))) for kind, name in ENTRIES]
        assert [list(job.result(300).versions)[-1] for job in several] == [" ".join(entry) for entry in ENTRIES]
    finally:
        executor.close()
