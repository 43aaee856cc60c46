from __future__ import annotations

import copy
import hashlib
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.digests import digest_of, digest_of_arrays, digest_of_object

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


class Box:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


def test_equal_states_of_objects_have_equal_digests() -> None:
    text, numbers = "".join(["a", "b"]), np.arange(3.0)
    shared = Box(first=text, again=text, numbers=numbers, view=numbers, table={"x": 1, "y": {3, 1, 2}})
    apart = Box(table={"y": {2, 3, 1}, "x": 1}, view=np.arange(3.0), numbers=np.arange(3.0), again="ab", first="ab")
    assert digest_of_object(shared) == digest_of_object(apart) == digest_of_object(pickle.loads(pickle.dumps(shared)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Box(a=1), Box(a=2)),
        (Box(a=1), Box(b=1)),
        (Box(a=1), {"a": 1}),
        ([1, 2], [2, 1]),
        ([1, 2], (1, 2)),
        ({1, 2}, [1, 2]),
        (1, 1.0),
        (0.0, -0.0),
        ("1", b"1"),
        (np.arange(3), np.arange(3.0)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.float64(1.0), np.float32(1.0)),
        (np.array(["a", None], dtype=object), np.array(["a", 0], dtype=object)),
        (np.array([(1, 2.0)], dtype="i4,f8"), np.array([(1, 3.0)], dtype="i4,f8")),
        (np.random.RandomState(1), np.random.RandomState(2)),
        (pickle.dumps, pickle.loads),
        (int, float),
    ],
)
def test_other_states_of_objects_have_other_digests(one: Any, other: Any) -> None:
    assert digest_of_object(one) != digest_of_object(other)
    assert digest_of_object(one) == digest_of_object(copy.deepcopy(one))


def test_what_is_between_the_fields_of_an_array_does_not_count() -> None:
    kind = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16})
    memory = bytearray(b"\xff" * 32)
    one, other = np.zeros(2, kind), np.frombuffer(memory, kind)
    other["a"], other["b"] = 0, 0.0
    assert any(memory)
    assert digest_of_object(one) == digest_of_object(other)


def test_an_object_may_hold_itself() -> None:
    one, other = Box(a=1), Box(a=1)
    one.itself, other.itself = one, other  # type: ignore[attr-defined]
    assert digest_of_object(one) == digest_of_object(other)
    assert digest_of_object(one) != digest_of_object(Box(a=1, itself=None))


def test_what_cannot_be_pickled_has_no_digest() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        digest_of_object(Box(lock=threading.Lock()))
