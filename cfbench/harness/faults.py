"""What pydantic finds wrong, said in our sentences: which key, the value received, what is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

LONGEST_VALUE = 80
"""Characters of a received value that a message repeats."""

MOST_FAULTS = 20
"""So many are told; more have one cause, and to word a million of them would take minutes."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a string",
    "path": "a path",
    "tuple": "a list in [ ]",
    "list": "a list in [ ]",
    "set": "a list in [ ]",
    "frozen_set": "a list in [ ]",
    "dict": "a table",
    "mapping": "a table",
    "model": "a table",
}
_LIMITS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
    "literal_error": ("one of", "expected"),
    "enum": ("one of", "expected"),
    "string_pattern_mismatch": ("a string that matches", "pattern"),
}
_WHOLE_SENTENCES = {
    "none_required": "must be null",
    "finite_number": "must be a finite number",
    "int_from_float": "must be a whole number",
}


@dataclass(frozen=True)
class Fault:
    """One thing wrong with one key.

    Parameters
    ----------
    path : tuple of str or int
        Where it stands: keys and positions in lists; empty for the whole.
    kind : str
        "missing", "unknown", "value", or "further" for what is counted and not told.
    sentence : str
        What is allowed, after "PATH = VALUE: ".
    value : object
        What was received; how many there are of what is not told.
    """

    path: tuple[str | int, ...]
    kind: str
    sentence: str
    value: object = None

    def text(self) -> str:
        """The fault in one line."""
        if not self.path:
            return self.sentence
        if self.kind != "value":
            return f"{dotted(self.path)}: {self.sentence}"
        return f"{dotted(self.path)} = {shown(self.value)}: {self.sentence}"


def faults_of(
    error: ValidationError, given: Mapping[str, Any], unknown: Callable[[tuple[str | int, ...]], str]
) -> list[Fault]:
    """Translate what `error` holds, of very many faults the first.

    Parameters
    ----------
    error : ValidationError
    given : mapping
        What was validated.
    unknown : callable
        Says in a sentence what is known instead of the key at a path.

    Returns
    -------
    list of Fault
        One a key, in pydantic's order. Where a value may be of several kinds, one fault names them all.
    """
    merged: dict[tuple[str | int, ...], Fault] = {}
    every = error.errors(include_url=False)
    for number, details in enumerate(every):
        if len(merged) == MOST_FAULTS:
            left = len(every) - number
            return [*merged.values(), Fault((), "further", f"and {left:,} more; mend these first", left)]
        fault = _fault(details, given, unknown)
        if details["type"] == "too_short" and _long_enough(fault.value, details):
            continue  # pydantic counts the good items alone; each bad one has a fault of its own
        earlier = merged.get(fault.path)
        if earlier is None:
            merged[fault.path] = fault
        elif fault.sentence != earlier.sentence:
            alternative = f"{earlier.sentence}, or {fault.sentence.removeprefix('must be ')}"
            merged[fault.path] = Fault(fault.path, earlier.kind, alternative, earlier.value)
    return list(merged.values())


def listing(where: str, faults: Sequence[Fault]) -> str:
    """Put faults into one message: one on the line of `where`, several below it."""
    if len(faults) == 1:
        return f"{where}: {faults[0].text()}"
    count = sum(fault.value if fault.kind == "further" and isinstance(fault.value, int) else 1 for fault in faults)
    return f"{where}: {count:,} things are wrong:" + "".join(f"\n  {fault.text()}" for fault in faults)


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as ``parts[0].folds[2]``; a key that TOML would quote is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = step if _BARE_KEY.fullmatch(step) else json.dumps(step)
            key = key if len(key) <= LONGEST_VALUE else f"{key[: LONGEST_VALUE - 3]}..."
            text += f".{key}" if text else key
    return text


def shown(value: object) -> str:
    """Write a received value as JSON has it (TOML, too, for most), control characters escaped, shortened if long."""
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        text = ascii(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _fault(details: ErrorDetails, given: Mapping[str, Any], unknown: Callable[[tuple[str | int, ...]], str]) -> Fault:
    kind, location = details["type"], details["loc"]
    if kind == "missing":
        return Fault(location, "missing", "missing, and it has no default")
    if kind == "extra_forbidden":
        return Fault(location, "unknown", unknown(location))
    path, value = _walk(given, location)
    return Fault(path, "value", _sentence(kind, details), value)


def _long_enough(value: object, details: ErrorDetails) -> bool:
    return isinstance(value, (list, tuple)) and len(value) >= details["ctx"]["min_length"]


def _walk(given: object, location: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], object]:
    """Follow `location` as far as it leads: past the value itself, pydantic names the branch of a union."""
    path: list[str | int] = []
    for step in location:
        inside_table = isinstance(given, Mapping) and step in given
        inside_list = isinstance(given, (list, tuple)) and isinstance(step, int) and step < len(given)
        if not (inside_table or inside_list):
            break
        given = given[step]  # type: ignore[index] # one of the two it is
        path.append(step)
    return tuple(path), given


def _sentence(kind: str, details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error", details["msg"]))
    if kind in _WHOLE_SENTENCES:
        return _WHOLE_SENTENCES[kind]
    if kind in ("too_short", "string_too_short"):
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must have a length of at least {least}"
    if kind in _LIMITS:
        words, key = _LIMITS[kind]
        limit = context[key]
        return f"must be {words} {f'{limit:g}' if isinstance(limit, float) else limit}"
    stem = kind.removesuffix("_type").removesuffix("_parsing")
    if stem in _TYPES:
        return f"must be {_TYPES[stem]}"
    return f"must pass this check: {details['msg']}"
