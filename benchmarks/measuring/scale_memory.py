"""A whole command on a record of many cells: what it takes until it searches, and the memory of its main process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cfbench.record.store import Record
from measuring.scale_plugin import FIRST_SEARCH
from measuring.synthetic import PLUGIN, fill, plan_of, registry

RUN = """
import resource, sys
from cfbench.cli import main
try:
    main(sys.argv[1:])
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def time_to_first_search(cells: int) -> tuple[float, float, float, float]:
    """Return the seconds of ``cfbench run`` until its first search, and those of CPU, on so many finished cells.

    Returns
    -------
    tuple of float
        Both on that record, then both on an empty one.
    """
    found: list[float] = []
    for finished in (cells, 0):
        with tempfile.TemporaryDirectory() as folder:
            options = _made(Path(folder) / "results", finished, points=5)
            note = Path(folder) / "first"
            start = time.time()
            _run(options, {FIRST_SEARCH: str(note)})
            end, cpu = map(float, note.read_text(encoding="ascii").split())
            found += [end - start, cpu]
    wall, cpu, wall_of_none, cpu_of_none = found
    return wall, cpu, wall_of_none, cpu_of_none


def main_process_memory(cells: int) -> float:
    """Return the peak memory, in MB, of a run that adds a hundred searches to a record of 100,000."""
    with tempfile.TemporaryDirectory() as folder:
        output = _run(_made(Path(folder) / "results", cells, points=10, repetitions=10_000 // cells), {})
        return float(output.rpartition("peak ")[2])


def _made(results: Path, cells: int, points: int, repetitions: int = 1) -> list[str]:
    """Make a record of finished cells; return the options of a study that has all of them, and one searcher more."""
    models = [f"half[number={i}]" for i in range(max(1, cells // 100))]
    searchers = [f"step[number={i}]" for i in range(20)] if cells else []
    registered = registry()
    if cells:
        plan = plan_of(registered, results, searchers, models=models, points=points, repetitions=repetitions)
        with Record.open(results, write=True) as record:
            fill(record, plan.cells, registered)
    study = results.with_name("study.toml")
    study.write_text(
        f'datasets = ["halves"]\nmodels = {_toml(models)}\nsearchers = {_toml([*searchers, "step[number=999]"])}\n'
        f'points = {points}\nrepetitions = {repetitions}\nmetrics = []\ntracking = "none"\nresults = "{results}"\n'
        "parts = ["
        + (f"{{ searchers = {_toml(searchers)} }}, " if cells else "")
        + f'{{ searchers = ["step[number=999]"], models = {_toml(models[:1])}, folds = [0] }}]\n',
        encoding="utf-8",
    )
    return ["run", str(study), "--plugin", str(PLUGIN)]


def _toml(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _run(options: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *options],
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return done.stdout
