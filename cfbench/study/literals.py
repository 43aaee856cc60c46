"""Settings written in a line: ``population_size=500,weights=[1,0.5],name="a b"``.

Values look as in TOML. A word that is no number and none of ``true``, ``false``, ``null`` is a string without quotes.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cfbench.errors import StudyError

DEEPEST = 20
"""Levels of nested lists and tables that are read."""

_KEY = re.compile(r"[\w-]+")
_BARE = re.compile(r"[^\s,=\[\]{}\"']+")
_INTEGER = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLAIN_STRING = re.compile(r"[A-Za-z_./][\w./:-]*", re.ASCII)
_CONSTANTS = {"true": True, "false": False, "null": None}
_LONGEST_EXACT = 2**53


def parse_assignments(text: str) -> dict[str, Any]:
    """Read ``name=value,name=value``.

    Raises StudyError if it is written otherwise, or a name occurs twice.
    """
    reader = _Reader(text)
    assignments = reader.assignments("")
    reader.expect_end()
    return assignments


def parse_value(text: str) -> Any:
    """Read one value.

    Raises StudyError if it is no value, or more than one.
    """
    reader = _Reader(text)
    value = reader.value(0)
    reader.expect_end()
    return value


def write_assignments(assignments: Mapping[str, Any]) -> str:
    """Write what `parse_assignments` reads back as the same values."""
    return ",".join(f"{name}={write_value(value)}" for name, value in assignments.items())


def write_value(value: Any) -> str:
    """Write JSON-like content in its shortest form; a whole float is written as an integer, since it counts as one."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return repr(whole(value))
    if isinstance(value, str):
        plain = _PLAIN_STRING.fullmatch(value) and not _FLOAT.fullmatch(value) and value not in _CONSTANTS
        return value if plain else json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}={write_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(write_value(item) for item in value) + "]"
    raise TypeError(f"a setting is JSON-like, not {type(value).__name__}")


def whole(value: Any) -> Any:
    """Return JSON-like content with every whole float as an integer: ``1`` and ``1.0`` are one value."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) <= _LONGEST_EXACT:
        return int(value)
    if isinstance(value, Mapping):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [whole(item) for item in value]
    return value


class _Reader:
    """Reads from left to right; a complaint shows how far it came."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def assignments(self, closing: str, depth: int = 0) -> dict[str, Any]:
        """Read assignments up to `closing` (the end, where that is empty)."""
        found: dict[str, Any] = {}
        while self._has_item(closing):
            name = self._key()
            if name in found:
                raise self._complaint(f"{name!r} is given twice")
            self._skip_space()
            if self._peek() != "=":
                raise self._complaint(f"expected = after {name!r}")
            self._at += 1
            found[name] = self.value(depth)
            self._comma_or(closing)
        return found

    def value(self, depth: int) -> Any:
        """Read one value."""
        if depth > DEEPEST:
            raise self._complaint(f"lists and tables nest deeper than {DEEPEST} levels")
        self._skip_space()
        first = self._peek()
        if first == "[":
            self._at += 1
            items: list[Any] = []
            while self._has_item("]"):
                items.append(self.value(depth + 1))
                self._comma_or("]")
            self._at += 1
            return items
        if first == "{":
            self._at += 1
            table = self.assignments("}", depth + 1)
            self._at += 1
            return table
        if first in ('"', "'"):
            return self._quoted(first)
        match = _BARE.match(self._text, self._at)
        if match is None:
            raise self._complaint("expected a value: a number, true, false, null, a string, or a list in [ ]")
        value = _classified(match.group())
        if isinstance(value, str) and _FLOAT.fullmatch(value):
            raise self._complaint(f"a number is too large: none is past {sys.float_info.max:.2g}")
        self._at = match.end()
        return value

    def expect_end(self) -> None:
        """Complain about anything left."""
        self._skip_space()
        if self._at < len(self._text):
            raise self._complaint("expected nothing more; put a string with spaces or commas in quotes")

    def _quoted(self, quote: str) -> str:
        if quote == '"':
            try:
                value, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
            except ValueError:
                raise self._complaint("this string does not end, or holds an escape that JSON does not know") from None
            return str(value)
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise self._complaint("this string does not end")
        start, self._at = self._at + 1, end + 1
        return self._text[start:end]

    def _key(self) -> str:
        if self._peek() == '"':
            return self._quoted('"')
        match = _KEY.match(self._text, self._at)
        if match is None:
            raise self._complaint("expected a setting's name, as in population_size=500")
        self._at = match.end()
        return match.group()

    def _has_item(self, closing: str) -> bool:
        self._skip_space()
        return self._peek() != closing

    def _comma_or(self, closing: str) -> None:
        """Step over a comma; stay before `closing`."""
        self._skip_space()
        if self._peek() == ",":
            self._at += 1
        elif self._peek() != closing:
            raise self._complaint(f"expected a comma{f' or {closing}' if closing else ''}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self._at += 1

    def _complaint(self, what: str) -> StudyError:
        return StudyError(f"{what}, at {self._text[self._at : self._at + 20]!a} in {self._text!a}")


def _classified(word: str) -> Any:
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _INTEGER.fullmatch(word) and len(word) < 4000:
        return int(word)
    if _FLOAT.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    return word
