"""What a file says of a cell, held against the types that the rest of cfbench relies on: records come from anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from cfbench.errors import RecordError
from cfbench.record.summary import CellSummary
from cfbench.registry.events import CellInfo

LONGEST = 10_000
"""Characters of a name, a version or a reason; one of more was not written by cfbench."""

_WHOLE: set[type] = {int}
_WHOLE_OR_NONE: set[type] = {int, type(None)}
_NUMBER_OR_NONE: set[type] = {float, type(None)}
_OF_A_POINT = {
    "points": _WHOLE,
    "row_ids": _WHOLE,
    "tries": _WHOLE,
    "successes": _WHOLE,
    "results": _WHOLE_OR_NONE,
    "loss": _NUMBER_OR_NONE,
    "objective_value": _NUMBER_OR_NONE,
    "seconds": _NUMBER_OR_NONE,
    "queries": _WHOLE_OR_NONE,
}
_CONTENT: dict[str, tuple[type, ...]] = {
    "protocol": (int,),
    "dataset": (dict,),
    "model": (dict,),
    "searcher": (dict,),
    "objective": (dict,),
    "constraints": (bool,),
    "respect_steps": (bool,),
    "fold": (int,),
    "points": (str,),
    "seed": (int,),
    "query_budget": (int, type(None)),
    "time_limit": (int, float, type(None)),
}
_ENTRY = {"name": str, "version": str, "digest": str, "settings": dict}
_COUNTS = ("eligible", "repetitions", "searches", "search_queries", "robustness_queries")


def checked_info(given: object) -> CellInfo:
    """Return the coordinates in JSON-like content.

    Raises
    ------
    TypeError, ValueError
        If it is anything else.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"a cell's coordinates are a table, not {type(given).__name__}")
    info = CellInfo(**given)
    if not isinstance(info.versions, dict):
        raise TypeError("versions must be a table")
    _check_texts([info.key, info.dataset, info.model, info.searcher, info.objective])
    _check_texts([*info.versions, *info.versions.values()])
    if not (isinstance(info.constraints, bool) and isinstance(info.white_box, bool)) or type(info.fold) is not int:
        raise TypeError("constraints and white_box must be true or false, fold a whole number")
    return info


class Content(dict[str, Any]):
    """What a cell's key is a digest of; what it does not say is an error of ours for whoever needs it."""

    def __missing__(self, name: str) -> Any:
        raise RecordError(
            f"the record does not say the {name} of one of its cells, which cfbench always writes: it was altered, or "
            "made by something else"
        )


def checked_content(given: object) -> Content:
    """Return the content in JSON-like content; what it says is of the right types, and it may lack anything.

    Raises
    ------
    TypeError, ValueError
        If it is anything else.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"a cell's content is a table, not {type(given).__name__}")
    content = Content(given)
    for name in content.keys() & _CONTENT.keys():
        if type(content[name]) not in _CONTENT[name]:
            raise TypeError(f"content.{name} cannot be {content[name]!r:.50}")
        if isinstance(content[name], dict):
            content[name] = entry = Content(content[name])
            for key in entry.keys() & _ENTRY.keys():
                if not isinstance(entry[key], _ENTRY[key]):
                    raise TypeError(f"content.{name}.{key} cannot be {entry[key]!r:.50}")
    # It is hashed, shown and written again: neither what is not finite nor half a surrogate pair can be.
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    return content


def check_summary(summary: CellSummary) -> None:
    """Refuse a summary that no cell can have.

    Parameters
    ----------
    summary : CellSummary
        With checked coordinates and content.

    Raises
    ------
    TypeError, ValueError
    """
    _check_texts([*summary.fingerprints, *summary.statuses, summary.skipped, summary.failure])
    counts = [*(getattr(summary, name) for name in _COUNTS), *summary.statuses.values()]
    if not {*map(type, counts)} <= _WHOLE or min(counts) < 0:
        raise TypeError("counts must be whole numbers from 0")
    if not {type(summary.wall_seconds), type(summary.cpu_seconds)} <= {float}:
        raise TypeError("seconds must be numbers")
    sequences = {name: getattr(summary, name) for name in _OF_A_POINT}
    if len({len(values) for values in sequences.values()}) > 1:
        raise ValueError("every point must have one value of each kind")
    for name, values in sequences.items():
        if not {*map(type, values)} <= _OF_A_POINT[name]:
            raise TypeError(f"{name} holds what is no number")
    if not sum(summary.tries) == sum(summary.statuses.values()) == summary.searches:
        raise ValueError("its counts of searches differ")


def _check_texts(texts: Iterable[Any]) -> None:
    for text in texts:
        if not isinstance(text, str) or len(text) > LONGEST:
            raise TypeError(f"names, versions and reasons are texts of at most {LONGEST:,} characters")
        text.encode()  # half a surrogate pair can neither be shown nor written
