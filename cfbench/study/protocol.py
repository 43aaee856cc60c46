"""The protocol: its version, the random stream of every search, and the order of a fold's points.

A stream is named by what it is for; its seed is a digest of that name. Limits, counts, the order of searches, the
number of workers and resuming are not part of the name, so they do not change results.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from cfbench.digests import digest_of
from cfbench.space.space import IntArray

PROTOCOL_VERSION = 1
"""The rules of the benchmark: folds, judge, seeds. It is part of every cell's key."""


@dataclass(frozen=True)
class SearchName:
    """The name of a search's random streams."""

    seed: int
    dataset: str  # here and below registered names: two variants of a searcher have the same random numbers
    model: str
    searcher: str
    objective: str
    fold: int
    row_id: int
    repetition: int

    def searcher_seed(self) -> np.random.SeedSequence:
        """The seed of the searcher's generator."""
        return np.random.SeedSequence(self._entropy("searcher"))

    def objective_stream(self) -> int:
        """The key of the objective's own stream in this search, 64 bits."""
        return self._entropy("objective") & 0xFFFF_FFFF_FFFF_FFFF

    def choice_stream(self) -> int:
        """The key, 64 bits, of the draws that choose a result if a search used up its budget."""
        return self._entropy("choice") & 0xFFFF_FFFF_FFFF_FFFF

    def judge_stream(self) -> int:
        """The key of the judge's stream, 64 bits: the same for all searchers, objectives and repetitions of a point."""
        name = ["judge", self.seed, self.dataset, self.model, self.fold, self.row_id]
        return int(digest_of(name), 16) & 0xFFFF_FFFF_FFFF_FFFF

    def _entropy(self, purpose: str) -> int:
        name = [purpose, self.seed, self.dataset, self.model, self.searcher, self.objective]
        return int(digest_of([*name, self.fold, self.row_id, self.repetition]), 16)


def preparation_seed(
    seed: int, dataset: str, model: str, searcher: str, objective: str, fold: int
) -> np.random.SeedSequence:
    """Return the seed of a preparation's generator, the same in every worker; names are registered names."""
    return np.random.SeedSequence(int(digest_of(["prepare", seed, dataset, model, searcher, objective, fold]), 16))


DRAWN = "drawn"
"""The value in a cell's content that says that its points are in the order of `point_order`."""


def point_order(seed: int, dataset: str, fold: int, rows: IntArray) -> IntArray:
    """Return the rows of a test fold in the order in which a study explains them.

    Decision: the order is that of a digest of each row's name. So the points are a random sample of the fold, the same
    one for every searcher; the first 5 of 20 points are the 5 points of a smaller study; and a model that decides
    otherwise on one row shifts no other row.
    """
    places = [digest_of(["point", seed, dataset, fold, int(row)]) for row in rows]
    return rows[np.argsort(places, kind="stable")]


@contextmanager
def guarded_randomness(seed: np.random.SeedSequence) -> Iterator[None]:
    """Seed the global generators of Python and numpy for a plugin, and restore them afterwards.

    A library that knows only global generators becomes repeatable, and plugins do not affect each other.
    """
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - the state that plugins may use
    words = seed.generate_state(4)
    random.seed(int.from_bytes(words.tobytes(), "little"))
    np.random.seed(words)  # noqa: NPY002 - as above
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 - as above
