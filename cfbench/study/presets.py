"""Studies that plugins register by name. A preset keeps to what is registered, and notes what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfbench.errors import PluginError, StudyError
from cfbench.registry.discovery import guarded
from cfbench.registry.entries import PresetEntry
from cfbench.registry.registry import Registered, Registry
from cfbench.study.study import Study, make_study, read_keys
from cfbench.study.variants import parse_variant, required_settings


def preset(name: str, registry: Registry) -> Study:
    """Return a preset, without what is not registered.

    Its data sets are optional: if a table is unavailable, the plan leaves it out with a note.

    Raises UnknownNameError if there is no such preset. Raises StudyError or PluginError: as `study_of`.
    """
    return study_of(registry.preset(name).entry, registry)


def study_of(entry: PresetEntry, registry: Registry) -> Study:
    """Return the study of a preset's entry, as `preset` does.

    Raises StudyError if nothing of one of its lists is registered, or its keys are not those of a study. Raises
    PluginError if the plugin's function fails.
    """
    name = entry.name
    keys = {"reference": entry.reference, **_keys_of(entry, registry), "name": name}
    known = {axis: registry.kinds[axis] for axis in ("datasets", "models", "searchers", "objectives", "metrics")}
    notes = []
    for axis, entries in known.items():
        wanted = keys.get(axis, Study.model_fields[axis].default)  # without metrics: the default ones
        if not _is_list_of_names(wanted):
            continue  # make_study says what is wrong with it
        keys[axis] = wanted
        absent = [text for text in wanted if parse_variant(text)[0] not in entries]
        incomplete = [text for text in wanted if text not in absent and _lacks_settings(text, entries, keys)]
        if len(absent) == len(wanted) and axis != "metrics":
            raise StudyError(
                f"preset {name}: none of its {axis} is registered ({', '.join(absent) or 'there are none'}); "
                "`cfbench plugins` lists what is registered and what failed to load"
            )
        if absent:
            keys = _without(keys, axis, absent)
            notes.append(f"preset {name} leaves out {axis} that are not registered: {', '.join(absent)}")
        if incomplete:
            keys = _without(keys, axis, incomplete)
            notes.append(f"preset {name} leaves out {axis} with a setting that has no default: {', '.join(incomplete)}")
    every = {one for entries in known.values() for one in entries}
    for table, names in (("at_most", registry.searchers), ("settings", every)):
        if isinstance(keys.get(table), Mapping):
            keys[table] = {one: value for one, value in keys[table].items() if one in names}
    return make_study({**keys, "optional_datasets": keys.get("datasets", ()), "notes": notes}, f"preset {name}")


def _keys_of(entry: PresetEntry, registry: Registry) -> dict[str, Any]:
    """Return the keys that an entry holds, reads or computes."""
    study = entry.study
    if isinstance(study, Path):
        return read_keys(study)
    if isinstance(study, Mapping):
        return dict(study)
    searchers = {name: found.entry for name, found in registry.searchers.items()}
    try:
        keys: object = guarded(lambda: study(searchers))
    except PluginError as error:
        raise PluginError(f"preset {entry.name}: {error}") from error
    if not isinstance(keys, Mapping):
        raise PluginError(
            f"preset {entry.name}: its function returned {type(keys).__name__}; it must return a mapping of a study's "
            "keys"
        )
    return dict(keys)


def _lacks_settings(text: str, entries: Mapping[str, Registered[Any]], keys: Mapping[str, Any]) -> bool:
    """Whether a name of a list is that of an entry with a setting that has no default and is not given."""
    name, given = parse_variant(text)
    tables = keys.get("settings", {})
    table = tables.get(name, {}) if isinstance(tables, Mapping) else {}
    return bool(required_settings(entries[name].entry) - given.keys() - dict(table).keys())


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(text, str) and text.strip() for text in value)


def _without(keys: dict[str, Any], axis: str, absent: list[str]) -> dict[str, Any]:
    """Take names out of a list of the study and of its parts; a part that loses a whole list is dropped."""

    def kept(names: Any) -> Any:
        return tuple(text for text in names if text not in absent) if _is_list_of_names(names) else names

    parts = [{**part, axis: kept(part[axis])} if axis in part else part for part in keys.get("parts", ())]
    parts = [part for part in parts if part.get(axis, True)]
    return {**keys, axis: kept(keys[axis]), "parts": parts}
