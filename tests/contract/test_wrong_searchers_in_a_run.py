"""The wrong searchers in a real run: the harness judges each, and the rest goes on as if they were not there."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from cfbench import Constraint, Dataset, DatasetEntry, DataSource, FeatureSpace, hookimpl, load_record
from cfbench.registry.discovery import import_file
from cfbench.running.progress import RunReport
from tests.toys.runs import Toys
from tests.toys.studies import TOY

if TYPE_CHECKING:
    from tests.contract.wrong_searchers import Wrong

WRONG_SEARCHERS = Path(__file__).with_name("wrong_searchers.py")
IN_OTHER_PROCESSES = ["exits", "segfaults", "never-returns", "deaf-and-never-returns"]
"""They would end or hold up the test's own process."""

WORDS = {
    "raises": "ValueError: cannot think today (wrong_searchers.py:",
    "returns-a-string": "it returned a str, not a numpy array of shape (3,)",
    "returns-a-list": "it returned a list, not a numpy array of shape (3,)",
    "returns-a-frame": "it returned a pandas.DataFrame, not a numpy array of shape (3,)",
    "returns-a-matrix": "several candidates are returned as CounterfactualSet(Z)",
    "wrong-shape": "it returned an array of shape (4,), not (3,)",
    "undeclared-set": "it returned a CounterfactualSet, but its entry does not say returns_sets=True",
    "not-finite": "size = nan is not finite",
    "outside": "size = 21.0 is outside [0, 20]",
    "no-codes": "colour = 0.5 is no category code",
    "x-itself": "it returned x itself",
    "writes-into-x": "read-only",
    "frees-a-feature": "cannot assign to field 'constraint'",
    "bypasses-the-meter": "of its rows reached the model, and",
    "takes-training-data": "add Need.TRAINING_DATA to its entry",
    "exits": "its process ended with exit code 7",
    "segfaults": "SIGSEGV",
    "never-returns": "killed after its limit of 3 s",
    "deaf-and-never-returns": "killed after its limit of 3 s",
}


class Constrained:
    """Two more data sets: in one, the toy model's target lies where `size` may not go; in the other, `age` is fixed."""

    @hookimpl
    def cfbench_register_datasets(self) -> Iterator[DatasetEntry]:
        toy: Any = import_file(TOY)

        def load(source: DataSource, name: str, target: int) -> Dataset:
            table = toy.load(source)
            size, age, colour = table.space.features
            space = FeatureSpace((size, replace(age, constraint=Constraint.FIXED), colour))
            X, y = table.X.copy(), table.y.copy()
            return Dataset(name=name, X=X, y=y, space=space, target=target, class_labels=table.class_labels)

        for name, target in (("barred", 0), ("pinned", 1)):
            yield DatasetEntry(name=name, load=partial(load, name=name, target=target))


Go = Callable[..., tuple[RunReport, pd.DataFrame]]


@pytest.fixture
def go(tmp_path: Path) -> Go:
    """Run searchers on the toy data set and return the report and the record."""
    keys: dict[str, Any] = {"folds": (0,), "points": 2, "repetitions": 1}
    toys = Toys(tmp_path / "cache", TOY, WRONG_SEARCHERS, objects=(Constrained(),), **keys)
    assert [problem for problem in toys.registry.problems if "wrong" in problem.plugin] == []

    def go(
        name: str, searchers: list[str], *, processes: bool = False, **changes: Any
    ) -> tuple[RunReport, pd.DataFrame]:
        executor = toys.processes() if processes else None
        report = toys.run(
            tmp_path / name, executor, searchers=tuple(searchers), workers=2 if processes else 1, **changes
        )
        return report, load_record(tmp_path / name)

    return go


def _of(frame: pd.DataFrame, searcher: str) -> pd.DataFrame:
    columns = ["status", "z", "loss", "candidates", "search_queries"]
    return frame.loc[frame["searcher"] == searcher, columns].reset_index(drop=True)


def _assert_untouched(frame: pd.DataFrame, alone: pd.DataFrame) -> None:
    for searcher in ("honest", "toy-dice"):
        assert (_of(frame, searcher)["status"] == "found").all()
        assert _of(frame, searcher).to_json() == _of(alone, searcher).to_json()


def _assert_judged(frame: pd.DataFrame, wrong: list[Wrong]) -> None:
    for one in wrong:
        rows = frame[frame["searcher"] == one.entry.name]
        assert set(rows["status"]) == {one.status} - {"failed"}, one.entry.name
        words = WORDS.get(one.entry.name, "")
        assert rows["reason"].str.contains(words, regex=False).all(), (one.entry.name, set(rows["reason"]))


@pytest.mark.slow
def test_the_harness_judges_each_and_the_rest_goes_on(go: Go, wrong_searchers: Any) -> None:
    _, alone = go("alone", ["honest", "toy-dice"])
    wrong = [one for one in wrong_searchers.WRONG if one.entry.name not in IN_OTHER_PROCESSES]
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    report, frame = go("all", ["honest", *(one.entry.name for one in wrong), "toy-dice"])
    failed = sum(one.status == "failed" for one in wrong)
    assert (report.cells_done, report.cells_failed) == (len(wrong) + 2 - failed, failed)
    assert {number: signal.getsignal(number) for number in handlers} == handlers
    _assert_judged(frame, wrong)
    _assert_untouched(frame, alone)


@pytest.mark.slow
def test_those_that_hang_or_kill_lose_their_own_searches_alone(go: Go, wrong_searchers: Any) -> None:
    _, alone = go("alone", ["honest", "toy-dice"], points=1)
    wrong = [one for one in wrong_searchers.WRONG if one.entry.name in IN_OTHER_PROCESSES]
    names = ["honest", *(one.entry.name for one in wrong), "toy-dice"]
    report, frame = go("all", names, points=1, processes=True, time_limit=3.0)
    assert (report.cells_done, report.cells_failed) == (6, 0)
    _assert_judged(frame, wrong)
    _assert_untouched(frame, alone)


@pytest.mark.slow
def test_a_budget_holds_whatever_the_searcher_does_about_it(go: Go) -> None:
    names = ["honest", "breaks-on-its-budget", "asks-on-past-its-budget"]
    report, frame = go("budget", names, processes=True, query_budget=100, time_limit=3.0, points=1)
    assert (report.cells_done, report.cells_failed) == (3, 0)
    found = frame.set_index("searcher")
    assert found["status"].to_dict() == {
        "honest": "budget_exhausted",
        "breaks-on-its-budget": "crashed",
        "asks-on-past-its-budget": "timed_out",
    }
    # Of 400 candidates, `Best` evaluates those that the budget allows for; a question past it is refused whole.
    assert found.loc[["honest", "breaks-on-its-budget"], "search_queries"].tolist() == [100, 100]
    assert (found["search_queries"].dropna() <= 100).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dataset", "words"),
    [
        ("ignores-constraints", "barred", "breaks the constraint '>='"),
        ("changes-what-is-fixed", "pinned", "breaks the constraint '='"),
    ],
)
def test_constraints_are_judged_whatever_the_entry_claims(go: Go, name: str, dataset: str, words: str) -> None:
    _, frame = go("constrained", [name, "honest"], constraints=(True,), datasets=(dataset,))
    rows = frame[frame["searcher"] == name]
    assert set(rows["status"]) == {"invalid"}
    assert rows["reason"].str.contains(words, regex=False).all()
    assert set(frame.loc[frame["searcher"] == "honest", "status"]) == {"not_found" if dataset == "barred" else "found"}
