"""A warning is shown once per cell, with how often it was raised, and none is lost."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfbench.record.store import load_record
from cfbench.running.warned import counted_warnings, sentences
from tests.toys.runs import Toys
from tests.toys.studies import TOY

PLUGIN = """
import warnings
from cfbench import ModelEntry, ModelFamily, SearcherEntry, hookimpl

CALLS = []

class Model:
    def predict(self, Z):
        CALLS.append(len(Z))
        warnings.warn("no feature names", UserWarning)
        return (Z[:, 0] > 10).astype("int64")

    def predict_proba(self, Z):
        import numpy as np
        above = (Z[:, 0] > 10).astype("float64")
        return np.column_stack([1 - above, above])

    def fingerprint(self):
        return "loud"

    def oracle(self):
        return self

class Family(ModelFamily):
    def fit(self, X, y, space, hyperparameters):
        return Model()

def warns(problem, rng):
    for _ in range(2):
        warnings.warn("the step is small", RuntimeWarning)
    z = problem.x.copy()
    z[0] = 20.0
    return z

def quiet(problem, rng):
    z = problem.x.copy()
    z[0] = 20.0
    return z if problem.predict(z[None])[0] == problem.target else None

@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="loud", family=Family)

@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="warns", searcher=warns, handles=["categorical features"])
    yield SearcherEntry(name="quiet", searcher=quiet, handles=["categorical features"])
"""
EXECUTORS = [pytest.param(1, id="serial"), pytest.param(2, id="processes", marks=pytest.mark.slow)]


@pytest.fixture
def unfiltered() -> Iterator[None]:
    """Python's own action for warnings, where the tests make errors of them."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    (tmp_path / "loud.py").write_text(PLUGIN)
    return Toys(tmp_path / "cache", TOY, tmp_path / "loud.py")


def shown(text: str, message: str) -> list[int]:
    """Return the counts that stand next to a message on standard error; it stands nowhere without one."""
    counts = re.findall(rf"{message} \([^()]*/loud.py; raised ([\d,]+) times?\)|^.*py:\d+: .*{message}", text, re.M)
    return [int(count.replace(",", "")) for count in counts]


@pytest.mark.usefixtures("unfiltered")
@pytest.mark.parametrize("workers", EXECUTORS)
def test_a_searcher_that_warns_on_each_call(
    toys: Toys, tmp_path: Path, workers: int, capfd: pytest.CaptureFixture[str]
) -> None:
    executor = toys.processes(2) if workers == 2 else toys.serial()
    toys.run(tmp_path / "r", executor, searchers=("warns",), workers=workers)
    # Two cells, three points, two repetitions, two warnings each.
    said = capfd.readouterr().err
    assert shown(said, "the step is small") == [12, 12]
    assert "warning: warns on toy, threshold, none, fold 0: RuntimeWarning: the step is small (" in said


@pytest.mark.usefixtures("unfiltered")
@pytest.mark.parametrize("workers", EXECUTORS)
def test_a_model_that_warns_on_each_call(
    toys: Toys, tmp_path: Path, workers: int, capfd: pytest.CaptureFixture[str]
) -> None:
    executor = toys.processes(2) if workers == 2 else toys.serial()
    toys.run(tmp_path / "r", executor, searchers=("quiet",), models=("loud",), workers=workers)
    counts = shown(capfd.readouterr().err, "no feature names")
    assert len(counts) == 2
    family = toys.registry.model("loud").entry.family
    if workers == 1:
        assert sum(counts) == len(family.fit.__globals__["CALLS"])
    assert min(counts) > 6  # a query per search, and the checks of the model


def test_warnings_that_are_errors_stay_errors(toys: Toys, tmp_path: Path) -> None:
    toys.run(tmp_path / "r", searchers=("warns",))
    found = load_record(tmp_path / "r")
    assert set(found["status"]) == {"crashed"}
    assert found["reason"].str.startswith("RuntimeWarning: the step is small").all()


@pytest.mark.usefixtures("unfiltered")
def test_what_a_block_has_counted_is_shown_if_it_raises(capsys: pytest.CaptureFixture[str]) -> None:
    def break_down() -> None:
        with counted_warnings():
            for _ in range(3):
                warnings.warn("look here", stacklevel=1)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        break_down()
    place = "/".join(Path(__file__).parts[-2:])
    assert capsys.readouterr().err == f"warning: UserWarning: look here ({place}; raised 3 times)\n"


@pytest.mark.usefixtures("unfiltered")
def test_messages_and_categories_are_counted_apart_and_filters_come_first() -> None:
    warnings.filterwarnings("ignore", "hidden")
    with counted_warnings() as counts:
        for message in ("one", "two", "one", "hidden"):
            warnings.warn(message, stacklevel=1)
        warnings.warn("one", RuntimeWarning, stacklevel=1)
    assert [sentence.partition(" (")[0] for sentence in sentences(counts)] == [
        "UserWarning: one",
        "UserWarning: two",
        "RuntimeWarning: one",
    ]
    assert list(counts.values()) == [2, 1, 1]
