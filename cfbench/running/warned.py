"""Warnings of models, searchers and metrics: counted in the worker, and shown once per cell with the count."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cfbench.text import plural


class Warned(NamedTuple):
    """A Python warning: the name of its category, its message, and the file that warns, with its folder."""

    category: str
    message: str
    module: str


@dataclass(frozen=True)
class Counted:
    """The result of a job, and how often each warning was raised in it."""

    value: Any
    warnings: Counter[Warned] = field(default_factory=Counter)


@contextmanager
def counted_warnings() -> Iterator[Counter[Warned]]:
    """Count the warnings of a block, when it has ended, instead of showing them. If it raises, they are shown at once.

    The filters of the user come first: what they ignore is not counted, and what they turn into errors is raised.
    """
    counts: Counter[Warned] = Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", append=True)  # in place of "once per line of code", which hides how often
        try:
            yield counts
        except BaseException:
            show(_counted(caught))
            raise
    counts.update(_counted(caught))


def _counted(caught: Iterable[warnings.WarningMessage]) -> Counter[Warned]:
    """Count warnings by category, message and file."""
    return Counter(
        Warned(one.category.__name__, " ".join(str(one.message).split()), "/".join(Path(one.filename).parts[-2:]))
        for one in caught
    )


def show(counts: Mapping[Warned, int]) -> None:
    """Write warnings to standard error."""
    for sentence in sentences(counts):
        print(f"warning: {sentence}", file=sys.stderr, flush=True)


def sentences(counts: Mapping[Warned, int]) -> tuple[str, ...]:
    """Return a sentence for each warning, with its count."""
    return tuple(
        f"{one.category}: {one.message} ({one.module}; raised {plural(times, 'time')})" for one, times in counts.items()
    )
