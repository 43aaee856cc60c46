"""What an objective adds to the loss of a candidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from cfbench.space import FloatArray, IntArray

Term = Callable[[FloatArray, IntArray], FloatArray]
"""An objective bound to one problem: candidates (n, d) and their classes (n,) in, a term on the loss (n,) out."""


@runtime_checkable
class SeparableTerm(Protocol):
    """A term that is a sum over the features, each part a function of that feature's value alone.

    An objective whose `bind` returns one can be minimised exactly where the model can be read.
    """

    @property
    def breaks(self) -> tuple[FloatArray, ...]:
        """A feature each: values between which, and beyond which, the part of a number is concave.

        The factual value is one of them, whether it is named or not. Of no meaning for categorical features.
        """
        ...

    def parts(self, Z: FloatArray) -> FloatArray:
        """Return the parts of candidates, shape (n, d): row sums are the term."""
        ...

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        """Return the term, shape (n,)."""
        ...
