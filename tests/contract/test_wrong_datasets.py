"""Data sets with one fault each fail the one check that guards against it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from cfbench import Dataset, DatasetEntry, DataSource, FeatureSpace, FeatureSpec, Kind
from cfbench.errors import UnavailableError
from cfbench.registry.registry import build_registry
from cfbench.testing import Result, check_dataset

SPACE = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100, step=1),))
COUNTER = itertools.count()


def loans(
    name: str = "loans", shift: float = 0, rows: int = 20, labels: tuple[str, ...] = ("refused", "granted")
) -> Dataset:
    X = np.arange(rows, dtype=float)[:, np.newaxis] + shift
    return Dataset(name, X, (np.arange(rows) >= rows / 2).astype(int) % len(labels), SPACE, 0, labels)


def raises() -> Dataset:
    raise KeyError("income")


@pytest.mark.parametrize(
    ("load", "check", "why"),
    [
        (raises, "loads", "data set 'loans': it raised KeyError: 'income'"),
        (lambda: None, "loads", "its entry's load returned NoneType, not a cfbench.Dataset"),
        (lambda: loans(shift=-3), "loads", "column 'income', row 1: -3.0 is not allowed; allowed: a number from 0"),
        (lambda: loans(shift=0.5), "loads", "column 'income', row 1: 0.5 is no multiple of the step 1"),
        (lambda: loans(shift=next(COUNTER)), "same-table-every-time", "its digest was "),
        (lambda: loans("credits"), "has-the-entrys-name", "the entry is called 'loans', and the data set 'credits'"),
        (lambda: loans(rows=8), "can-be-split", "class 'refused' has 4 rows; each class needs at least 5"),
        (lambda: loans(labels=("all",)), "can-be-split", "'all' is its only class"),
    ],
)
def test_one_fault_fails_one_check(load: Callable[[], Dataset], check: str, why: str) -> None:
    report = check_dataset(DatasetEntry(name="loans", load=lambda _: load()))
    (failure,) = report.failures
    assert failure.check == check
    assert why in failure.why
    if check == "loads":
        assert {finding.why for finding in report.findings[1:]} == {"loads failed; fix that first"}


def test_a_sound_data_set_passes_and_an_absent_one_is_not_checked() -> None:
    def absent(source: DataSource) -> Dataset:
        raise UnavailableError("download it")

    assert {one.result for one in check_dataset(DatasetEntry(name="loans", load=lambda _: loans())).findings} == {
        Result.PASSED
    }
    findings = check_dataset(DatasetEntry(name="loans", load=absent)).findings
    assert {(one.result, one.why) for one in findings} == {(Result.NOT_APPLICABLE, "download it")}


@pytest.mark.parametrize("name", build_registry().datasets)
def test_our_data_sets_pass(name: str) -> None:
    report = check_dataset(build_registry().dataset(name).entry)
    assert report.passed, str(report)
