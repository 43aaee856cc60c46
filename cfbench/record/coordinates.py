"""A cell's coordinates, which readers see, held against the content that its key is a digest of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfbench.digests import digest_of
from cfbench.errors import RecordError
from cfbench.registry.events import CellInfo

_AXES = ("model", "searcher", "objective")


def objection_to(key: str, info: CellInfo, content: Mapping[str, Any]) -> str:
    """Say why a cell is not the one that its key, its coordinates and its content name; empty where it is.

    Parameters
    ----------
    key : str
    info : CellInfo
    content : mapping
        JSON-like; it may hold or lack anything.
    """
    try:
        digest = digest_of(content)
        names = {axis: content[axis]["name"] for axis in ("dataset", *_AXES)}
        versions = {axis: content[axis]["version"] for axis in _AXES if axis in info.versions}
        places = (content["constraints"], content["fold"])
    except (KeyError, TypeError, RecursionError, RecordError) as error:
        return f"it does not say what was run: {error!r:.200}"
    if not key == info.key == digest:
        return f"its key is not the digest of what it says was run ({digest})"
    labels = {axis: getattr(info, axis).partition("[")[0] for axis in _AXES}
    if {"dataset": info.dataset, **labels} != names or places != (info.constraints, info.fold):
        return "it says to be another cell than the one that was run"
    if versions != {axis: info.versions[axis] for axis in versions}:
        return "it says to be of other versions than the one that was run"
    return ""
