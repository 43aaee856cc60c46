"""Random numbers by position: a draw is a function of its key, never of what was drawn before.

Keys form a tree: a stream has a key for each evaluation, that one for each neighbour, that one for each feature. So a
draw can be computed on its own, in any order, by any number of processes, and by compiled code: the functions here are
written such that numpy applies them to arrays and a compiler to single numbers, with the same bits.

References
----------
The keys descend by the increment and the finaliser of SplitMix64: G. Steele, D. Lea and C. Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014; the finaliser's constants are D. Stafford's "variant 13".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench.space.space import FloatArray, IntArray

UintArray = NDArray[np.uint64]

_ONE = np.uint64(1)
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_UNUSED_BITS = np.uint64(11)
_SMALLEST = 2.0**-53


def descended_key(key: Any, number: Any) -> Any:
    """Return the key below `key` that has this number: 64 bits, each of which depends on all bits of both."""
    bits = key + _INCREMENT * (number + _ONE)
    bits = (bits ^ (bits >> _SHIFTS[0])) * _FACTORS[0]
    bits = (bits ^ (bits >> _SHIFTS[1])) * _FACTORS[1]
    return bits ^ (bits >> _SHIFTS[2])


def uniform_share(key: Any) -> Any:
    """Return a key's random number, uniform in [0, 1): a multiple of 2^-53."""
    return (key >> _UNUSED_BITS) * _SMALLEST


def evaluation_keys(stream: int, first: int, n: int) -> UintArray:
    """Return the keys of the evaluations ``first .. first + n - 1`` of a stream, any 64 bits, shape (n,)."""
    root = descended_key(np.zeros(1, dtype=np.uint64), np.array([stream], dtype=np.uint64))
    keys: UintArray = descended_key(root, np.arange(first, first + n, dtype=np.uint64))
    return keys


def uniform_shares(evaluations: UintArray, m: int, features: IntArray) -> FloatArray:
    """Draw uniform numbers in [0, 1) for m neighbours of each evaluation, shape (n, m, features)."""
    neighbours = descended_key(evaluations[:, np.newaxis], np.arange(m, dtype=np.uint64))
    shares: FloatArray = uniform_share(descended_key(neighbours[:, :, np.newaxis], features.astype(np.uint64)))
    return shares
