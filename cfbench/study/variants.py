"""Variants: an entry's name with the settings that differ from its defaults, and messages about wrong settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticUndefined, to_jsonable_python

from cfbench.digests import digest_of
from cfbench.errors import StudyError, UnknownNameError
from cfbench.registry.contracts import Settings
from cfbench.registry.entries import Entry
from cfbench.study.literals import DEEPEST, parse_assignments, whole, write_assignments

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry

LONGEST_VALUE = 80
"""Characters of a received value that a message repeats."""

MOST_FAULTS = 20
"""How many faults are reported in full; more usually have one cause."""

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
class SettingsFault:
    """One fault of one key."""

    path: tuple[str | int, ...]  # keys and positions in lists; empty for the whole table
    kind: str  # "missing", "unknown", "value", or "further" for faults that are only counted
    sentence: str  # what is allowed
    value: Any = None  # what was received; for "further" the count

    def text(self) -> str:
        """The fault in one line."""
        if not self.path:
            return self.sentence
        if self.kind != "value":
            return f"{dotted(self.path)}: {self.sentence}"
        return f"{dotted(self.path)} = {shown(self.value)}: {self.sentence}"


def faults_of(
    error: ValidationError, given: Mapping[str, Any], unknown: Callable[[tuple[str | int, ...]], str]
) -> list[SettingsFault]:
    """Return the faults in `error`; of very many, the first ones."""
    merged: dict[tuple[str | int, ...], SettingsFault] = {}
    every = error.errors(include_url=False)
    for number, details in enumerate(every):
        if len(merged) == MOST_FAULTS:
            left = len(every) - number
            return [*merged.values(), SettingsFault((), "further", f"and {left:,} more; fix these first", left)]
        fault = _fault(details, given, unknown)
        is_list = isinstance(fault.value, (list, tuple))
        if details["type"] == "too_short" and is_list and len(fault.value) >= details["ctx"]["min_length"]:
            continue  # pydantic counts the good items alone; each bad one has a fault of its own
        earlier = merged.get(fault.path)
        if earlier is None:
            merged[fault.path] = fault
        elif fault.sentence != earlier.sentence:
            alternative = f"{earlier.sentence}, or {fault.sentence.removeprefix('must be ')}"
            merged[fault.path] = SettingsFault(fault.path, earlier.kind, alternative, earlier.value)
    return list(merged.values())


def listing(where: str, faults: Sequence[SettingsFault]) -> str:
    """Return one message for several faults."""
    if len(faults) == 1:
        return f"{where}: {faults[0].text()}"
    count = sum(fault.value if fault.kind == "further" and isinstance(fault.value, int) else 1 for fault in faults)
    return f"{where}: {count:,} faults:" + "".join(f"\n  {fault.text()}" for fault in faults)


def dotted(path: Iterable[str | int]) -> str:
    """Format a path as ``parts[0].folds[2]``; quote keys that TOML would quote."""
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
    """Format a received value as JSON, with control characters escaped, shortened if long."""
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        text = ascii(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _fault(
    details: ErrorDetails, given: Mapping[str, Any], unknown: Callable[[tuple[str | int, ...]], str]
) -> SettingsFault:
    kind, location = details["type"], details["loc"]
    if kind == "missing":
        return SettingsFault(location, "missing", "missing, and it has no default")
    if kind == "extra_forbidden":
        return SettingsFault(location, "unknown", unknown(location))
    path, value = _walk(given, location)
    return SettingsFault(path, "value", _sentence(kind, details), value)


def _walk(given: object, location: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], object]:
    """Follow `location` to the value; pydantic adds the branch of a union to it."""
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


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Variant:
    """An entry with its settings."""

    name: str
    settings: dict[str, Any] = field(hash=False)  # JSON-like, defaults filled in
    label: str  # the name, with the settings that differ from their defaults in brackets


def parse_variant(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``cogs[population_size=500]`` into the name and the settings in brackets.

    Raises StudyError if the name is missing, a bracket stays open, or the settings are not written as ``name=value``.
    """
    name, bracket, rest = text.strip().partition("[")
    name = name.strip()
    if not name:
        raise StudyError(f"{text!a} has no name; write NAME or NAME[setting=value,...]")
    if not bracket:
        return name, {}
    if not rest.endswith("]"):
        raise StudyError(f"{text!a} must end with ]; write NAME[setting=value,...]")
    return name, parse_assignments(rest[:-1])


def settings_class(entry: Entry) -> type[Settings] | None:
    """Return the class whose fields are the entry's settings, or None if there is none."""
    fields = ("family", "searcher", "objective", "metric")
    owner = next((getattr(entry, name) for name in fields if hasattr(entry, name)), None)
    return owner if isinstance(owner, type) and issubclass(owner, Settings) else None


def required_settings(entry: Entry) -> set[str]:
    """Return the settings of an entry that have no default."""
    owner = settings_class(entry)
    return {name for name, info in owner.model_fields.items() if info.is_required()} if owner is not None else set()


def make_variant(entry: Entry, given: Mapping[str, Any]) -> Variant:
    """Check the settings of an entry and fill in its defaults.

    Raises UnknownNameError if the entry has no setting of a given name. Raises StudyError if a value has the wrong type
    or is impossible.
    """
    owner = settings_class(entry)
    if owner is None:
        if given:
            raise UnknownNameError(f"setting of {entry.name}", next(iter(given)), (), f"{entry.name} has no settings.")
        return Variant(entry.name, {}, entry.name)
    instance = build_settings(owner, given, entry.name)
    try:
        settings = {name: _json_like(getattr(instance, name)) for name in owner.model_fields}
        digest_of(settings)
    except (TypeError, ValueError) as error:
        raise StudyError(
            f"settings of {entry.name}: its class turns them into something that cannot be written ({error}); they "
            "must be made of finite numbers, strings, booleans, None, lists and tables"
        ) from error
    different = {
        name: whole(settings[name])
        for name, info in owner.model_fields.items()
        if not _is_default(settings[name], info.get_default(call_default_factory=True))
    }
    label = f"{entry.name}[{write_assignments(different)}]" if different else entry.name
    return Variant(entry.name, settings, label)


def resolve_variant(
    registry: Registry, kind: str, text: str, tables: Mapping[str, Mapping[str, Any]] | None = None
) -> Variant:
    """Look up ``NAME[setting=value,...]``.

    Raises UnknownNameError if nothing of that kind has the name, or it has no such setting. Raises StudyError if `text`
    cannot be read or a value is impossible.
    """
    name, given = parse_variant(text)
    entry = getattr(registry, kind)(name).entry
    return make_variant(entry, {**(tables or {}).get(name, {}), **given})


def build_settings(owner: type[S], settings: Mapping[str, Any], name: str = "") -> S:
    """Return an instance of a plugin's class with these settings.

    Raises UnknownNameError if there is no setting of a given name. Raises StudyError if a value has the wrong type or
    is impossible.
    """
    name = name or owner.__name__
    for key in settings:
        if key not in owner.model_fields:
            raise UnknownNameError(f"setting of {name}", key, owner.model_fields)
    try:
        return owner.model_validate_json(_as_json(settings, name), strict=True)
    except ValidationError as error:
        faults = faults_of(error, settings, lambda path: f"unknown key {path[-1]!r}")
        raise StudyError(listing(f"settings of {name}", faults)) from None
    except Exception as error:  # what a plugin's own class raises
        raise StudyError(f"settings of {name}: {owner.__name__} raised {type(error).__name__}: {error}") from error


def is_json_like(value: Any, depth: int = 0) -> bool:
    """Whether `value` is made of finite numbers, strings, booleans, None, lists, and tables with string keys alone."""
    if value is None or isinstance(value, (bool, int, str)):
        return True
    if isinstance(value, float):
        return isfinite(value)
    if depth > DEEPEST:
        return False
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_json_like(item, depth + 1) for key, item in value.items())
    return isinstance(value, (list, tuple)) and all(is_json_like(item, depth + 1) for item in value)


def _is_default(value: Any, default: Any) -> bool:
    return default is not PydanticUndefined and digest_of(value) == digest_of(_json_like(default))


def _json_like(value: Any) -> Any:
    """Convert a field's value to JSON-like form; a set is sorted."""
    plain = to_jsonable_python(value)
    return sorted(plain, key=json.dumps) if isinstance(value, (set, frozenset)) else plain


def _as_json(settings: Mapping[str, Any], name: str) -> str:
    """Write settings as JSON, in which pydantic's strict mode knows lists for tuples and words for enumerations."""
    odd = [key for key, value in settings.items() if not is_json_like(value)]
    if odd:
        raise StudyError(
            f"settings of {name}: {', '.join(odd)}: must be made of finite numbers, strings, true, false, lists and "
            "tables"
        )
    return json.dumps(whole(settings))
