"""What an annotations.toml may hold: its keys and their types, and a clear word for every key that does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from cfbench import UnknownNameError


def _value(content: Any) -> Any:
    if isinstance(content, bool) or not isinstance(content, (str, int)):
        raise ValueError("a category or class is a string or a whole number")
    if isinstance(content, str) and (not content or content != content.strip()):
        raise ValueError("a category or class is a string with no blanks around it, and not an empty one")
    return str(content)


def _reachable(content: Any) -> Any:
    if isinstance(content, list):
        return [_value(entry) for entry in content]
    if content == "all":
        return content
    raise ValueError('a list of categories, or "all"')


MOST_COMPLAINTS = 100
"""So many are worded: to look for the name that is most like each of a million unknown ones would take minutes."""

LONGEST_VALUE = 80
"""Characters of a received value that a complaint repeats."""

Value = Annotated[str, BeforeValidator(_value)]
"""A category or a class as data.csv spells it; 3 and "3" are the same."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class LabelTable(_Table):
    """``[label]``: the column that holds the classes, and the class that users want."""

    column: str
    classes: list[Value]
    target: Value
    meanings: list[str] = []
    rule: str = ""


class PerturbationTable(_Table):
    """``perturbation = { ... }`` of a feature."""

    decrease: float | None = None
    increase: float | None = None
    relative: bool = False
    categories: Annotated[list[str] | Literal["all"] | None, PlainValidator(_reachable)] = None


class FeatureTable(_Table):
    """One ``[[features]]`` table."""

    name: str = Field(min_length=1)
    kind: Literal["numerical", "categorical"]
    interval: list[float] | None = Field(default=None, min_length=2, max_length=2)
    categories: list[Value] | None = None
    labels: list[str] | None = None
    constraint: Literal["none", "=", ">=", "<="] = "none"
    perturbation: PerturbationTable | None = None
    step: float | None = None
    unit: str = ""
    description: str = ""


class AnnotationTable(_Table):
    """A whole annotations.toml."""

    title: str = ""
    user: str = "Individual"
    ignore: list[str] = []
    label: LabelTable
    features: list[FeatureTable]


def complaints(error: ValidationError, content: Mapping[str, Any]) -> list[str]:
    """Word each complaint of pydantic with the key, the value received and what is allowed; of very many the first."""
    details = error.errors(include_url=False)
    worded = list(dict.fromkeys(_complaint(detail, content) for detail in details[:MOST_COMPLAINTS]))
    rest = len(details) - MOST_COMPLAINTS
    return [*worded, f"{rest:,} further problems, which are not worded"] if rest > 0 else worded


_ALLOWED = {
    "list_type": "a list",
    "string_type": "a string",
    "float_type": "a number",
    "bool_type": "true or false",
    "model_type": "a table",
    "finite_number": "a finite number",
    "too_short": "a list of two numbers, [minimum, maximum]",
    "too_long": "a list of two numbers, [minimum, maximum]",
    "string_too_short": "a string that is not empty",
}


def _complaint(detail: Any, content: Mapping[str, Any]) -> str:
    loc = list(detail["loc"])
    where = _place(loc[:-1], content)
    key = loc[-1] if loc else ""
    kind = detail["type"]
    if kind == "missing":
        return f"{where}key {key!r} is missing; add it, see docs/add-a-dataset.md"
    if kind == "extra_forbidden":
        return f"{where}{UnknownNameError('key', str(key), _known_keys(loc[:-1]), 'Correct or remove it.')}"
    if kind == "literal_error":
        allowed = detail["ctx"]["expected"]
    elif kind == "value_error":
        allowed = str(detail["ctx"]["error"])
    else:
        allowed = _ALLOWED.get(kind, detail["msg"])
    shown = f"key {key!r}" if isinstance(key, str) else f"entry {key + 1} of {loc[-2]!r}"
    where = where if isinstance(key, str) else _place(loc[:-2], content)
    return f"{where}{shown} is {_shown(detail['input'])}; allowed: {allowed}"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return "nested too deeply to be shown"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _place(loc: list[Any], content: Mapping[str, Any]) -> str:
    """Name the table that a complaint is about as a reader of the file would."""
    if loc[:1] == ["features"] and len(loc) > 1:
        table = content["features"][loc[1]]
        name = table.get("name") if isinstance(table, Mapping) else None
        feature = f"feature {name!r}" if isinstance(name, str) else f"[[features]] table {loc[1] + 1}"
        return f"{feature}{''.join(f', {part}' for part in loc[2:])}: "
    return f"[{loc[0]}]: " if loc else ""


def _known_keys(loc: list[Any]) -> list[str]:
    if not loc:
        table: type[BaseModel] = AnnotationTable
    elif loc[0] == "label":
        table = LabelTable
    else:
        table = PerturbationTable if loc[-1] == "perturbation" else FeatureTable
    return list(table.model_fields)
