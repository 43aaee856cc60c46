"""What is fuzzed: for each kind of file, what to draw and what to do with it. Only errors of ours may come out of that.

``make test`` draws 200 of each, ``benchmarks/fuzz.py`` ten thousand.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cfbench.caches import CACHE_VARIABLE
from cfbench.registry.contracts import DataSource
from cfbench.registry.discovery import import_file

if TYPE_CHECKING:
    from tests.fuzz import records, texts
else:
    records = import_file(Path(__file__).with_name("records.py"))
    texts = import_file(Path(__file__).with_name("texts.py"))

LONGEST = 20.0
"""Seconds of CPU time that one input may take; they take hundredths."""


@dataclass(frozen=True)
class Target:
    """A kind of input: `sound` is one without a fault, and `use` does with an input what cfbench's commands do."""

    name: str
    inputs: st.SearchStrategy[Any]
    sound: Any
    use: Callable[[Any], None]

    def fuzz(self, inputs: int, *, seed: int | None = None) -> tuple[int, float]:
        """Draw inputs and use each; return how many there were, and the most CPU seconds that one took.

        Whatever is raised is no error of ours, and hypothesis names the input that led to it.
        """
        count, longest = 0, 0.0
        self.use(self.sound)  # imports whatever is imported when it is first used

        @settings(
            max_examples=inputs,
            deadline=None,
            database=None,
            derandomize=seed is None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        @given(self.inputs)
        def use(drawn: Any) -> None:
            nonlocal count, longest
            before = time.process_time()
            with nothing_executed():
                self.use(drawn)
            seconds = time.process_time() - before
            assert seconds < LONGEST, f"one input took {seconds:.1f} s"
            count, longest = count + 1, max(longest, seconds)

        if seed is not None:
            use._hypothesis_internal_use_seed = seed  # type: ignore[attr-defined] # what hypothesis.seed() sets
        use()
        return count, longest


@contextlib.contextmanager
def nothing_executed() -> Iterator[None]:
    """Make unpickling, evaluating, executing and starting programs an error."""
    forbidden = [(pickle, "load"), (pickle, "loads"), (builtins, "eval"), (os, "system"), (subprocess, "Popen")]
    kept = [(place, name, getattr(place, name)) for place, name in forbidden]

    def guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*given: Any, **named: Any) -> Any:
            if name == "eval" and sys._getframe(1).f_globals["__name__"] == "collections":
                return function(*given, **named)  # how namedtuple makes a class, in a module that is imported late
            raise AssertionError("something out of a file would have been executed")

        return refuse

    try:
        for place, name, function in kept:
            setattr(place, name, guarded(name, function))
        yield
    finally:
        for place, name, function in kept:
            setattr(place, name, function)


def make_targets(folder: Path) -> list[Target]:
    """Return all kinds of inputs; what they need is made in `folder`, the cache included."""
    os.environ[CACHE_VARIABLE] = str(folder / "cache")
    template = records.Template(folder)
    source = DataSource(data_dirs=(), cache_dir=folder, download=False)
    annotated, tabled = folder / "annotated", folder / "tabled"
    for place in (annotated, tabled):
        place.mkdir()
        (place / "data.csv").write_text(texts.TABLE)
        (place / "annotations.toml").write_text(texts.ANNOTATION)

    def plan_study(data: bytes) -> None:
        (folder / "study.toml").write_bytes(data)
        texts.read_and_plan(folder / "study.toml", template.registry, source)

    def load_annotated(data: bytes) -> None:
        (annotated / "annotations.toml").write_bytes(data)
        texts.load(annotated)

    def load_tabled(data: bytes) -> None:
        (tabled / "data.csv").write_bytes(data)
        texts.load(tabled)

    def in_folder(files: records.Files, use: Callable[[Any, Path], None]) -> Callable[[records.Files], None]:
        def write_and_use(changed: records.Files) -> None:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                use(template, records.written({**files, **changed}, Path(place) / "results"))

        return write_and_use

    return [
        Target("study files", texts.study_files(), texts.STUDY_TEXT.encode(), plan_study),
        Target(
            "annotation files", texts.annotation_files(), (annotated / "annotations.toml").read_bytes(), load_annotated
        ),
        Target("CSV tables", texts.csv_files(), texts.TABLE.encode(), load_tabled),
        Target(
            "record files, read",
            records.damaged(template.files),
            {},
            in_folder(template.files, records.read_everything),
        ),
        Target(
            "record files, run again", records.damaged(template.files), {}, in_folder(template.files, records.run_again)
        ),
        Target(
            "packed records",
            records.damaged_pack(template.packed),
            {},
            in_folder(template.packed, records.read_everything),
        ),
    ]
