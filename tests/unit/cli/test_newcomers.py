"""Every mistake that a newcomer makes with a plugin has its message, shown by the commands that they call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.cli import main
from cfbench.record.store import load_record
from tests.toys.studies import CELL, ONCE

Install = Callable[..., None]
Command = Callable[..., tuple[int, str]]

GOOD = """
import numpy as np
import pandas as pd
from pydantic import Field
from cfbench import CounterfactualSet, Handles, ModelEntry, Searcher, SearcherEntry, hookimpl

ALL = [Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES]

def search(problem, rng):
    z = problem.x.copy()
    z[0] = 12.0
    return z

@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="mine", searcher=search, handles=ALL)
"""
RUN = ["run", *CELL, "--points", "2", *ONCE]


@pytest.fixture
def cfbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Call the command line in a folder of its own; return its exit code and all that it says, on one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "300")

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        captured = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), " ".join((captured.out + captured.err).split())

    return call


def write(source: str, name: str = "mine.py") -> str:
    Path(name).write_text(source, encoding="utf-8")
    return f"./{name}"


# ------------------------------------------------------------------ what cannot be registered


BROKEN = {
    "a misspelt hook": (
        GOOD.replace("def cfbench_register_searchers", "def cfbench_register_searcher"),
        "cfbench_register_searcher implements 'cfbench_register_searcher', and there is no such hook; did you mean "
        "cfbench_register_searchers?",
    ),
    "an absent package": (
        "import surely_absent.part\n" + GOOD,
        "it imports 'surely_absent', which is not installed here; install what provides it: pip install surely_absent",
    ),
    "a name that is taken": (
        GOOD.replace('"mine"', '"cogs"'),
        "SearcherEntry 'cogs': the name is taken by plugin cfbench-searchers of counterfactual-bench 0.1.0; give it "
        "another",
    ),
    "a declaration that is none": (
        GOOD.replace("handles=ALL", 'handles=["categories"]'),
        "cfbench_register_searchers failed: "
        "entry 'mine': `handles` is ['categories']; it may list Handles.CATEGORICAL, Handles.CONSTRAINTS",
    ),
}
"""One mistake of each kind; the tests of discovery and of entries have all of them."""


@pytest.mark.slow
@pytest.mark.parametrize("mistake", BROKEN)
def test_a_broken_plugin_is_reported_by_plugins_and_by_run(cfbench: Command, mistake: str) -> None:
    source, words = BROKEN[mistake]
    path = write(source)
    code, said = cfbench("plugins", "--check", "--plugin", path)
    assert code == 1
    assert "Not registered (1)" in said
    assert words in said

    code, said = cfbench(*RUN, "--plugin", path, "--searcher", "mine")
    assert code == 1
    assert f"mine.py: {words}" in said
    assert "Error: unknown searcher 'mine'." in said
    assert not Path("results").exists()

    code, said = cfbench(*RUN, "--plugin", path, "--searcher", "toy-dice")
    assert code == 0, "everything else goes on"
    assert f"mine.py: {words}" in said

    code, said = cfbench(*RUN, "--plugin", path, "--searcher", "toy-dice", "--strict")
    assert code == 1
    assert words in said


def test_what_cannot_run_here_is_listed_with_the_command_that_installs_it_and_skipped(cfbench: Command) -> None:
    path = write(GOOD.replace("handles=ALL", 'handles=ALL, unavailable="install it with: pip install mine[solver]"'))
    code, said = cfbench("plugins", "--check", "--plugin", path)
    assert code == 0
    assert "unavailable: install it with: pip install mine[solver]" in said
    code, said = cfbench(*RUN, "--plugin", path, "--searcher", "mine", "--searcher", "toy-dice")
    assert code == 0
    assert "1 cell is skipped: mine cannot run here: install it with: pip install mine[solver]" in said


# ------------------------------------------------------------------ answers that are none


ANSWERS = {
    "z.tolist()": "it returned a list, not a numpy array of shape (3,)",
    "tuple(z)": "it returned a tuple, not a numpy array of shape (3,)",
    "pd.DataFrame([z])": "it returned a pandas.DataFrame, not a numpy array of shape (3,)",
    "pd.Series(z)": "it returned a pandas.Series, not a numpy array of shape (3,)",
    "z[np.newaxis]": (
        "it returned an array of shape (1, 3); one candidate is returned as its row Z[i], several candidates are "
        "returned as CounterfactualSet(Z)"
    ),
    "CounterfactualSet(z[np.newaxis])": (
        "it returned a CounterfactualSet, but its entry does not say returns_sets=True"
    ),
    "z[:2]": "it returned an array of shape (2,), not (3,)",
    "z.astype(str)": "not of numbers",
    "np.array([z[0], z[1], 0.5])": "colour = 0.5 is no category code",
    "np.array([z[0], z[1], np.nan])": "colour = nan is not finite",
    "np.array([99.0, z[1], z[2]])": "size = 99.0 is outside [0, 20]",
    "problem.x": "it returned x itself",
    "np.array([1.0, z[1], z[2]])": "its class is 0, not the target 1",
}


def test_an_answer_that_is_none_is_invalid_and_the_run_says_why(cfbench: Command) -> None:
    names = [f"mine-{number}" for number in range(len(ANSWERS))]
    functions = [
        f"def search_{number}(problem, rng):\n    z = search(problem, rng)\n    return {answer}\n"
        for number, answer in enumerate(ANSWERS)
    ]
    entries = [
        f'    yield SearcherEntry(name="{name}", searcher=search_{number}, handles=ALL)\n'
        for number, name in enumerate(names)
    ]
    path = write(GOOD.replace("@hookimpl", "".join(functions) + "\n@hookimpl") + "".join(entries))
    searchers = [word for name in ["mine", *names] for word in ("--searcher", name)]
    code, said = cfbench(*RUN, "--plugin", path, *searchers)
    assert code == 0
    frame = load_record("results")
    for name, words in zip(names, ANSWERS.values(), strict=True):
        rows = frame[frame["searcher"] == name]
        assert set(rows["status"]) == {"invalid"}
        assert all(words in reason for reason in rows["reason"])
        assert f"invalid: {name} on toy" in said
        assert words in said
    assert set(frame[frame["searcher"] == "mine"]["status"]) == {"found"}


# ------------------------------------------------------------------ settings

WITH_SETTINGS = GOOD.replace(
    "@hookimpl",
    """
class Mine(Searcher):
    radius: float = Field(default=1.0, gt=0)
    n_rows: int = Field(default=10, ge=1)

    def search(self, problem, rng):
        return search(problem, rng)

@hookimpl""",
).replace("searcher=search,", "searcher=Mine,")


@pytest.mark.parametrize(
    ("searcher", "words"),
    [
        ("mine[radus=2]", "unknown setting of mine 'radus'. Did you mean 'radius'? Known: radius, n_rows."),
        ("mine[radius=-1]", "radius"),
        ("mine[n_rows=3", "must end with ]"),
        ("growing-spheres[first_radius=-0.5]", "first_radius"),
        ("mein", "unknown searcher 'mein'. Did you mean 'mine'?"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_runs(cfbench: Command, searcher: str, words: str) -> None:
    path = write(WITH_SETTINGS)
    code, said = cfbench(*RUN, "--plugin", path, "--searcher", "toy-dice", "--searcher", searcher)
    assert code == 1
    assert words in said
    assert not Path("results").exists()


# ------------------------------------------------------------------ a first try is one file


@pytest.mark.slow
def test_a_file_is_run_in_spawned_workers_under_a_time_limit(cfbench: Command) -> None:
    hang = "def hang(problem, rng):\n    import threading\n    threading.Event().wait()\n\n@hookimpl"
    entry = '    yield SearcherEntry(name="hanging", searcher=hang, handles=ALL)\n'
    path = write(WITH_SETTINGS.replace("@hookimpl", hang) + entry)
    searchers = ["--searcher", "mine", "--searcher", "mine[radius=2.0]", "--searcher", "hanging"]
    code, said = cfbench(*RUN, "--workers", "2", "--time-limit", "3", "--plugin", path, *searchers)
    assert code == 0
    statuses = load_record("results").groupby("searcher")["status"].agg(set).to_dict()
    assert statuses == {"mine": {"found"}, "mine[radius=2]": {"found"}, "hanging": {"timed_out"}}
    assert "killed after its limit of 3 s" in said
