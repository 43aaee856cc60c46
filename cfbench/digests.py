"""Stable digests: the same content gives the same digest on every machine, whatever the order of its keys."""

from __future__ import annotations

import copyreg
import hashlib
import json
import math
import pickle
from collections.abc import Mapping
from types import FunctionType
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


def digest_of_object(value: object) -> str:
    """Return the digest of all that pickling would keep of an object, such as a fitted estimator of any library.

    Equal states give equal digests: it does not matter whether two equal parts are one object, in which order a set or
    a table was filled, or which version of scikit-learn wrote the state. Raises TypeError if a part cannot be pickled.
    """
    return _Objects().digest(value).hex()


class _Objects:
    """The digests of an object's parts. Each part is digested once; a part inside itself counts as a mark."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, bytes]] = {}  # the object is kept: its id must stay its own

    def digest(self, value: Any) -> bytes:
        if value is None or type(value) in (bool, int, float, complex, str):
            return _joined(type(value).__name__, repr(value).encode("utf-8", "backslashreplace"))
        if isinstance(value, (bytes, bytearray)):
            return _joined("bytes", bytes(value))
        if id(value) not in self._known:
            self._known[id(value)] = value, b"inside itself"
            self._known[id(value)] = value, self._compound(value)
        return self._known[id(value)][1]

    def _compound(self, value: Any) -> bytes:
        kind, parts = type(value).__name__, None
        if type(value) is np.ndarray:
            return self._array(value)
        if type(value) in (list, tuple):
            parts = [self.digest(part) for part in value]
        elif type(value) in (set, frozenset):
            parts = sorted(self.digest(part) for part in value)
        elif type(value) is dict:
            parts = sorted(self.digest(item) for item in value.items())
        elif isinstance(value, (type, FunctionType)):
            kind, parts = "name", [f"{value.__module__}.{value.__qualname__}".encode()]
        return self._reduced(value) if parts is None else _joined(kind, *parts)

    def _array(self, value: np.ndarray[Any, Any]) -> bytes:
        if value.dtype.names:
            # By field: the bytes between the fields are whatever was in memory.
            return _joined("fields", *(self.digest((name, value[name])) for name in value.dtype.names))
        if value.dtype.hasobject:
            return _joined("objects", self.digest(value.shape), self.digest(value.ravel().tolist()))
        return _joined("array", digest_of_arrays(value).encode("ascii"))

    def _reduced(self, value: Any) -> bytes:
        reduce = copyreg.dispatch_table.get(type(value))
        made = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL) if reduce is None else reduce(value)
        if isinstance(made, str):  # something with a name in its module
            return _joined("name", f"{type(value).__module__}.{made}".encode())
        function, arguments, *rest = made
        state, items, pairs = (*rest, None, None, None)[:3]
        if isinstance(state, dict):
            state = {name: part for name, part in state.items() if name != "_sklearn_version"}
        parts = (function, arguments, state, list(items or ()), list(pairs or ()))
        return _joined("object", *map(self.digest, parts))


def _joined(kind: str, *parts: bytes) -> bytes:
    state = hashlib.blake2b(f"{kind} {len(parts)}".encode("ascii"), digest_size=DIGEST_BYTES)
    for part in parts:
        state.update(f" {len(part)} ".encode("ascii") + part)
    return state.digest()
