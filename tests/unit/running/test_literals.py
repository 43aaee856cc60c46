"""Settings written in a line."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.errors import StudyError
from cfbench.study.literals import parse_assignments, parse_value, write_assignments, write_value

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("1_000", 1000),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("false", False),
        ("null", None),
        ("sqrt", "sqrt"),
        ("data/mine.csv", "data/mine.csv"),
        ('"5"', "5"),
        ('"a, b]"', "a, b]"),
        ("'a \\ b'", "a \\ b"),
        ("[]", []),
        ("[1, 0.5, x, [true]]", [1, 0.5, "x", [True]]),
        ('{low=1, "high end"=2}', {"low": 1, "high end": 2}),
        ("nan", "nan"),
        ('"1e999"', "1e999"),
    ],
)
def test_values_are_read_as_toml_has_them(text: str, value: Any) -> None:
    read = parse_value(text)
    assert read == value
    assert type(read) is type(value)


def test_assignments_are_read_in_order_with_spaces_anywhere() -> None:
    assert list(parse_assignments(" a = 1 , b=[ 2,3 ],c = x ").items()) == [("a", 1), ("b", [2, 3]), ("c", "x")]
    assert parse_assignments("") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "expected = after 'a', at '' in 'a'"),
        ("a=", "expected a value"),
        ("=1", "expected a setting's name"),
        ("a=1,a=2", "'a' is given twice"),
        ("a=1e999", "a number is too large: none is past 1.8e+308, at '1e999' in 'a=1e999'"),
        ("a=-.5e999", "a number is too large"),
        (f"a={'9' * 5000}", "a number is too large"),
        ("a=1 b=2", "expected a comma, at 'b=2'"),
        ("a=[1", "expected a comma or ]"),
        ("a=[1 2]", "expected a comma or ], at '2]'"),
        ('a="x', "this string does not end"),
        ("a='x", "this string does not end"),
        ("a=1]", "expected a comma, at ']'"),
        ("a=" + "[" * 100, "nest deeper than 20 levels"),
        ("a=" + "{b=" * 100, "nest deeper than 20 levels"),
    ],
)
def test_a_complaint_shows_where_reading_stopped(text: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_assignments(text)
    assert said in str(caught.value)


def test_a_value_with_something_after_it_is_refused() -> None:
    with pytest.raises(StudyError, match="put a string with spaces or commas in quotes, at 'b'"):
        parse_value("a b")


@given(VALUES)
def test_what_is_written_reads_back(value: Any) -> None:
    assert parse_value(write_value(value)) == value


@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True), VALUES, max_size=4))
def test_written_assignments_read_back_in_order(assignments: dict[str, Any]) -> None:
    assert list(parse_assignments(write_assignments(assignments)).items()) == list(assignments.items())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (True, "true"),
        (None, "null"),
        ("sqrt", "sqrt"),
        ("5", '"5"'),
        ("true", '"true"'),
        *((".5", '".5"'), (".5e999", '".5e999"')),
        ("", '""'),
        ([1.5, "a b"], '[1.5,"a b"]'),
        ({"a": 1}, '{"a"=1}'),
    ],
)
def test_values_are_written_in_their_shortest_form(value: Any, text: str) -> None:
    assert write_value(value) == text


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(StudyError):
        parse_assignments(text)
