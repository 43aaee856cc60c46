"""Conformance checks of data sets: what an entry's `load` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from cfbench.errors import CfbenchError, UnavailableError
from cfbench.registry.contracts import DataSource
from cfbench.registry.entries import DatasetEntry
from cfbench.space.dataset import Dataset, split
from cfbench.study.sources import data_source, load_dataset
from cfbench.testing.check import Check, Failed, NotApplicable, Report, report_of

T = TypeVar("T")


@dataclass(frozen=True)
class DatasetBench:
    """A data set's entry, and where tables may be found."""

    entry: DatasetEntry
    source: DataSource

    @cached_property
    def dataset(self) -> Dataset:
        """What `load` returned first."""
        return self.load()

    def load(self) -> Dataset:
        """Load the data set; the check that does so fails if that fails."""
        return _unfailing(lambda: load_dataset(self.entry, self.source))


def _unfailing(call: Callable[[], T]) -> T:
    try:
        return call()
    except UnavailableError as error:
        raise NotApplicable(str(error)) from error
    except CfbenchError as error:
        raise Failed(str(error)) from error


def loads(bench: DatasetBench) -> None:
    """`load` returns a cfbench.Dataset whose values are inside the intervals, on the steps, and codes of categories.

    To fix: the message names the column, the row and the value. As long as this check fails, the others do not apply.
    """
    assert bench.dataset is not None


def same_table_every_time(bench: DatasetBench) -> None:
    """Loaded twice, the data set has the same rows, classes and annotation.

    To fix: give every random generator a fixed seed, and sort what comes in no fixed order. The digest of the table is
    in every result's key.
    """
    first, second = bench.dataset.digest, bench.load().digest
    if first != second:
        raise Failed(f"its digest was {first}, then {second}")


def has_the_entrys_name(bench: DatasetBench) -> None:
    """The data set has the name of its entry.

    To fix: pass the entry's name to cfbench.Dataset.
    """
    if bench.dataset.name != bench.entry.name:
        raise Failed(f"the entry is called {bench.entry.name!r}, and the data set {bench.dataset.name!r}")


def can_be_split(bench: DatasetBench) -> None:
    """There are two classes or more, and each has a row for each of the five folds.

    To fix: add rows, merge a small class with another, or leave it out.
    """
    if bench.dataset.n_classes == 1:
        raise Failed(f"{bench.dataset.class_labels[0]!r} is its only class; a search needs another class to start from")
    _unfailing(lambda: split(bench.dataset, 0))


DATASET_CHECKS: tuple[Check[DatasetEntry, DatasetBench], ...] = (
    Check(loads, comes_first=True),
    Check(same_table_every_time),
    Check(has_the_entrys_name),
    Check(can_be_split),
)


def check_dataset(entry: DatasetEntry, *, source: DataSource | None = None) -> Report:
    """Run all conformance checks of a data set.

    Parameters
    ----------
    entry : DatasetEntry
    source : DataSource, optional
        Where tables may be found; by default where a run looks, without a download.
    """
    return report_of(DATASET_CHECKS, DatasetBench(entry, source or data_source((), download=False)), entry)
