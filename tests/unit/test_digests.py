from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.digests import digest_of, digest_of_arrays

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
CONTENT = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


def test_the_digest_is_that_of_the_canonical_json() -> None:
    expected = hashlib.blake2b(b'{"a":[1,2.5,null,true],"b":"\\u00e9"}', digest_size=16).hexdigest()
    assert digest_of({"b": "é", "a": (1.0, 2.5, None, True)}) == expected


def test_order_of_keys_and_spelling_of_numbers_do_not_count() -> None:
    assert digest_of({"m": 64, "s": 0.5}) == digest_of({"s": 0.5, "m": 64.0})
    assert digest_of(-0.0) == digest_of(0)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, False), (0, None), ("1", 1), ([1, 2], [2, 1]), ([], {}), (0.1, 0.1 + 1e-16), ([1], [[1]])],
)
def test_different_content_has_different_digests(one: Any, other: Any) -> None:
    same = one == other and type(one) is type(other)  # 0.1 + 1e-16 is the next float or the same one
    assert (digest_of(one) == digest_of(other)) is same


@given(CONTENT)
def test_any_json_like_content_has_a_digest(content: Any) -> None:
    digest = digest_of(content)
    assert len(digest) == 32
    assert int(digest, 16) >= 0
    if isinstance(content, dict):
        assert digest == digest_of(dict(reversed(content.items())))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (float("nan"), "finite numbers"),
        ([float("inf")], "finite numbers"),
        ({1: "a"}, "string keys, not 1"),
        ({"a": {1, 2}}, "JSON-like content, not set"),
        ([np.int64(3)], "JSON-like content, not int64"),
    ],
)
def test_other_content_is_refused(content: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        digest_of(content)


def test_arrays_count_by_shape_dtype_and_bits() -> None:
    a = np.arange(6.0)
    assert digest_of_arrays(a) == digest_of_arrays(np.arange(6.0))
    different = [
        digest_of_arrays(a),
        digest_of_arrays(a.reshape(2, 3)),
        digest_of_arrays(a.reshape(3, 2)),
        digest_of_arrays(a.astype(np.float32)),
        digest_of_arrays(a.astype(np.int64)),
        digest_of_arrays(a, a),
        digest_of_arrays(np.concatenate([a, a])),
        digest_of_arrays(-a),
        digest_of_arrays(np.array([-0.0, 1, 2, 3, 4, 5])),
        digest_of_arrays(),
    ]
    assert len(set(different)) == len(different)


def test_memory_layout_and_byte_order_do_not_count() -> None:
    a = np.arange(6.0).reshape(2, 3)
    assert digest_of_arrays(a) == digest_of_arrays(np.asfortranarray(a)) == digest_of_arrays(a.astype(">f8"))
    assert digest_of_arrays(a[:, ::2]) == digest_of_arrays(a[:, ::2].copy())


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="not of dtype object"):
        digest_of_arrays(np.array(["a", None], dtype=object))
