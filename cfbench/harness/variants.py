"""Variants: an entry's name with the settings that differ from its defaults, such as ``k[m=4]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticUndefined, to_jsonable_python

from cfbench.contracts import Settings
from cfbench.digests import digest_of
from cfbench.entries import Entry, MetricEntry, ModelEntry, ObjectiveEntry, SearcherEntry
from cfbench.errors import StudyError, UnknownNameError
from cfbench.harness.faults import faults_of, listing
from cfbench.harness.literals import DEEPEST, parse_assignments, whole, write_assignments

if TYPE_CHECKING:
    from cfbench.registry import Registry

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Variant:
    """An entry with its settings.

    Parameters
    ----------
    name : str
        As it is registered.
    settings : dict
        Every setting in JSON-like form, defaults filled in.
    label : str
        The bare name where every setting has its default; otherwise with those that differ in brackets, in the order
        of the entry's fields. `parse_variant` reads it back.
    """

    name: str
    settings: dict[str, Any] = field(hash=False)
    label: str


def parse_variant(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``cogs[population_size=500]`` into the name and the settings written beside it.

    Raises
    ------
    StudyError
        If the name is missing, a bracket stays open, or the settings are not written as ``name=value``.
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
    """Return the class whose fields are the entry's settings; None where it has none."""
    owner: object = None
    if isinstance(entry, ModelEntry):
        owner = entry.family
    elif isinstance(entry, SearcherEntry):
        owner = entry.searcher
    elif isinstance(entry, ObjectiveEntry):
        owner = entry.objective
    elif isinstance(entry, MetricEntry):
        owner = entry.metric
    return owner if isinstance(owner, type) and issubclass(owner, Settings) else None


def make_variant(entry: Entry, given: Mapping[str, Any]) -> Variant:
    """Check the settings of an entry and fill in its defaults.

    Parameters
    ----------
    entry : ModelEntry, SearcherEntry, ObjectiveEntry or MetricEntry
    given : mapping
        Settings in JSON-like form; ``1`` and ``1.0`` are one value.

    Raises
    ------
    UnknownNameError
        If the entry has no setting of a given name.
    StudyError
        If a value has the wrong type or is impossible.
    """
    owner = settings_class(entry)
    if owner is None:
        if given:
            raise UnknownNameError(f"setting of {entry.name}", next(iter(given)), (), f"{entry.name} has no settings.")
        return Variant(entry.name, {}, entry.name)
    instance = build_settings(owner, given, entry.name)
    settings = {name: _json_like(getattr(instance, name)) for name in owner.model_fields}
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

    Parameters
    ----------
    registry : Registry
    kind : str
        "model", "searcher", "objective" or "metric".
    text : str
    tables : mapping, optional
        Settings by entry name; those in brackets win over them.

    Raises
    ------
    UnknownNameError
        If nothing of that kind has the name, or it has no such setting.
    StudyError
        If `text` cannot be read or a value is impossible.
    """
    name, given = parse_variant(text)
    entry = _entry(registry, kind, name)
    return make_variant(entry, {**(tables or {}).get(name, {}), **given})


def _entry(registry: Registry, kind: str, name: str) -> Entry:
    match kind:
        case "model":
            return registry.model(name).entry
        case "searcher":
            return registry.searcher(name).entry
        case "objective":
            return registry.objective(name).entry
        case "metric":
            return registry.metric(name).entry
    raise ValueError(f"{kind!r} is no kind of entry with settings")


def build_settings(owner: type[S], settings: Mapping[str, Any], name: str = "") -> S:
    """Return an instance of a plugin's class with these settings.

    Parameters
    ----------
    owner : type of Settings
    settings : mapping
        JSON-like; what is not given has its default. Types are taken strictly: no ``"5"`` for 5, no ``true`` for 1.
    name : str, optional
        The entry's name, for messages; the class's where it is empty.

    Raises
    ------
    UnknownNameError
        If there is no setting of a given name.
    StudyError
        If a value has the wrong type or is impossible.
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
    """Turn a field's value into JSON-like form; a set has no order of its own, so it gets one."""
    plain = to_jsonable_python(value)
    return sorted(plain, key=dumps) if isinstance(value, (set, frozenset)) else plain


def _as_json(settings: Mapping[str, Any], name: str) -> str:
    """Write settings as JSON, in which pydantic's strict mode knows lists for tuples and words for enumerations."""
    odd = [key for key, value in settings.items() if not is_json_like(value)]
    if odd:
        raise StudyError(
            f"settings of {name}: {', '.join(odd)}: must be made of finite numbers, strings, true, false, lists and "
            "tables"
        )
    return dumps(whole(settings))
