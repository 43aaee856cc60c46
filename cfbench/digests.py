"""Stable digests: the same content gives the same digest on every machine, whatever the order of its keys."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

DIGEST_BYTES = 16
"""Length of a digest; 128 bits make an accidental collision of keys impossible in practice."""


def digest_of(content: Any) -> str:
    """Return the digest of JSON-like content, 32 hexadecimal digits. ``1`` and ``1.0`` have one digest.

    Raises TypeError if the content holds anything else, a NaN or an infinity included.
    """
    text = json.dumps(_canonical(content), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=DIGEST_BYTES).hexdigest()


def digest_of_arrays(*arrays: np.ndarray[Any, np.dtype[Any]]) -> str:
    """Return the digest of arrays: their shapes, their dtypes (without byte order) and their values, bit for bit.

    Raises TypeError if an array holds Python objects, whose bytes are addresses.
    """
    state = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for array in arrays:
        if array.dtype.hasobject:
            raise TypeError(f"a digest needs arrays of numbers, not of dtype {array.dtype}")
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        state.update(f"{little.dtype.str}{little.shape}".encode("ascii"))
        state.update(little.tobytes())
    return state.hexdigest()


def _canonical(content: Any) -> Any:
    if content is None or isinstance(content, (str, bool)):
        return content
    if isinstance(content, int):
        return content
    if isinstance(content, float):
        if not math.isfinite(content):
            raise TypeError(f"a digest needs finite numbers, not {content}")
        return int(content) if content.is_integer() else content
    if isinstance(content, Mapping):
        strange = [key for key in content if not isinstance(key, str)]
        if strange:
            raise TypeError(f"a digest needs string keys, not {strange[0]!r}")
        return {key: _canonical(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_canonical(value) for value in content]
    raise TypeError(f"a digest needs JSON-like content, not {type(content).__name__}")
