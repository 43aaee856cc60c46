"""Reading and checking annotations.toml: the meaning of a table's columns."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)

from cfbench.errors import DataError, UnknownNameError
from cfbench.space.feature import CategoricalPerturbation, Constraint, FeatureSpec, Kind, NumericalPerturbation
from cfbench.space.relations import Relation, contradiction, read_relations
from cfbench.space.space import FeatureSpace

MOST_SHOWN = 100
"""Problems of a file that are listed; the rest is counted, since so many usually have one cause."""


def refuse(where: str, problems: Sequence[str]) -> DataError:
    """Return the error that lists `problems` of the file or folder `where`, one per line."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{where} cannot be used, {count}:", *(f"  - {problem}" for problem in problems[:MOST_SHOWN])]
    if len(problems) > MOST_SHOWN:
        lines.append(f"  and {len(problems) - MOST_SHOWN} more; fix these first")
    return DataError("\n".join(lines))


def refuse_device(path: Path) -> None:
    """Raise DataError for a pipe or a device, which may never end and cannot be read twice.

    Raises
    ------
    DataError
        If `path` exists and is neither a file nor a folder.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(f"{path} is a pipe or a device; a data set's files are read again and again: save it as a file")


def _value(content: Any) -> Any:
    if isinstance(content, bool):
        raise ValueError(
            f'a string or a whole number; write {str(content).lower()} as data.csv does, such as "{content}"'
        )
    if not isinstance(content, (str, int)):
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
"""Maximum number of detailed messages: to find similar names for a million unknown ones would take minutes."""

LONGEST_VALUE = 80
"""Characters of a received value that a message repeats."""

_VALUE_SCHEMA: dict[str, Any] = {"type": ["string", "integer"]}
_CATEGORIES_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "array", "items": _VALUE_SCHEMA}, {"const": "all"}]}
Value = Annotated[str, BeforeValidator(_value), WithJsonSchema(_VALUE_SCHEMA)]
"""A category or a class as data.csv spells it; 3 and "3" are the same."""


class _StrictTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class LabelTable(_StrictTable):
    """``[label]``: the column that holds the classes, and the class that users want."""

    column: str
    classes: list[Value]
    target: Value
    meanings: list[str] = []
    rule: str = ""


class PerturbationTable(_StrictTable):
    """``perturbation = { ... }`` of a feature."""

    decrease: float | None = None
    increase: float | None = None
    relative: bool = False
    categories: Annotated[
        list[str] | Literal["all"] | None, PlainValidator(_reachable), WithJsonSchema(_CATEGORIES_SCHEMA)
    ] = None


class FeatureTable(_StrictTable):
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


class AnnotationTable(_StrictTable):
    """A whole annotations.toml."""

    title: str = ""
    user: str = "Individual"
    ignore: list[str] = []
    label: LabelTable
    features: list[FeatureTable]
    relations: list[dict[str, Any]] = []


class Places:
    """The lines of an annotations.toml on which its tables and keys stand; empty where they are written otherwise."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        heads = [(number, re.match(r"\s*\[+\s*([\w.]+)", line)) for number, line in enumerate(self._lines)]
        self._heads = [(number, match[1]) for number, match in heads if match and "=" not in self._lines[number]]

    def line(self, *loc: str | int) -> str:
        """Return the line of a key, such as ("features", 3, "interval"), or of its table, as "line 12: "."""
        name, number = str(loc[0]) if loc else "", loc[1] if len(loc) > 1 and isinstance(loc[1], int) else 0
        starts = [line for line, table in self._heads if table == name]
        inline = number >= len(starts)  # a key at the top, or a table that is written inline
        start = -1 if inline else starts[number]
        keys = [part for part in loc[0 if inline else 1 :] if isinstance(part, str)]
        end = next((line for line, _ in self._heads if line > start), len(self._lines))
        for line in range(start + 1, end):
            if keys and re.match(rf"\s*[\"']?{re.escape(keys[0])}[\"']?\s*=", self._lines[line]):
                return f"line {line + 1}: "
        return f"line {start + 1}: " if start >= 0 else ""


def complaints(error: ValidationError, content: Mapping[str, Any], places: Places) -> list[str]:
    """Return messages for pydantic's errors: the line, the key, the value received and what is allowed."""
    details = error.errors(include_url=False)
    worded = list(
        dict.fromkeys(
            f"{places.line(*detail['loc'])}{_complaint(detail, content)}" for detail in details[:MOST_COMPLAINTS]
        )
    )
    rest = len(details) - MOST_COMPLAINTS
    return [*worded, f"{rest:,} further problems, which are not listed"] if rest > 0 else worded


_RELATIONS = "tables of relations, each under its own line [[relations]]"

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
        allowed = _RELATIONS if loc[:1] == ["relations"] else _ALLOWED.get(kind, detail["msg"])
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
    """Name the table of an error as it is written in the file."""
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


FILE_NAME = "annotations.toml"


@dataclass(frozen=True)
class Annotation:
    """The content of annotations.toml.

    Parameters
    ----------
    title, user : str
    ignore : tuple of str
        Columns of the table that are left out.
    label_column : str
    classes : tuple of str
        The classes as the table spells them, in the order of their codes.
    meanings : tuple of str
        What the classes mean, for readers.
    rule : str
        How the label was made, for readers.
    target : int
        Code of the class that users want.
    space : FeatureSpace
    values : tuple of tuple of str
        For each feature, its categories as the table spells them, in the order of their codes; empty if numerical.
    """

    title: str
    user: str
    ignore: tuple[str, ...]
    label_column: str
    classes: tuple[str, ...]
    meanings: tuple[str, ...]
    rule: str
    target: int
    space: FeatureSpace
    values: tuple[tuple[str, ...], ...]


def read_annotation(path: Path) -> Annotation:
    """Read and check an annotations.toml.

    Raises
    ------
    DataError
        With all problems of the file that can be found at once.
    """
    annotation, problems = annotation_but_for_relations(path)
    if problems:
        raise refuse(str(path), problems)
    return annotation


def annotation_but_for_relations(path: Path) -> tuple[Annotation, list[str]]:
    """Return an annotation, and the problems of its relations.

    With a problem, the annotation has no relations; the table can be checked nevertheless. Raises DataError with all
    other problems of the file.
    """
    return parse_annotation(str(path), _text_of(path))


def parse_annotation(origin: str, text: str) -> tuple[Annotation, list[str]]:
    """Return the annotation that is written in `text`, as `annotation_but_for_relations` does for a file."""
    content, places = _toml(origin, text), Places(text)
    try:
        table = AnnotationTable.model_validate(content)
    except ValidationError as error:
        raise refuse(origin, [*complaints(error, content, places), *_other_problems(content, error, places)]) from None
    problems = _label_problems(table.label, places)
    names = [feature.name for feature in table.features]
    if not names:
        problems.append("there is no feature; add a [[features]] table for every column that a model may use")
    problems += [
        f"{places.line('features', len(names) - 1 - names[::-1].index(name))}feature {name!r} is annotated "
        f"{names.count(name)} times; keep one of its [[features]] tables"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    for name, role in [(table.label.column, "label column"), *((name, "ignored column") for name in table.ignore)]:
        if name in names:
            line = places.line("features", names.index(name))
            problems.append(f"{line}{name!r} is the {role} and a feature, too; it can be one of them only")
    specs = []
    for number, feature in enumerate(table.features):
        spec, own_problems = _checked(feature, places.line("features", number))
        specs.append(spec)
        problems += own_problems
    if problems:
        raise refuse(origin, problems)
    features = tuple(spec for spec in specs if spec is not None)
    relations, problems = _relations(text, table, features)
    label = table.label
    annotation = Annotation(
        title=table.title,
        user=table.user,
        ignore=tuple(table.ignore),
        label_column=label.column,
        classes=tuple(label.classes),
        meanings=tuple(label.meanings or label.classes),
        rule=label.rule,
        target=label.classes.index(label.target),
        space=FeatureSpace(features, relations),
        values=tuple(tuple(feature.categories or ()) for feature in table.features),
    )
    return annotation, problems


def _checked(feature: FeatureTable, line: str) -> tuple[FeatureSpec | None, list[str]]:
    """Return a feature's annotation, or what is wrong with it."""
    problems = _contradictions(feature)
    if not problems:
        try:
            return _spec(feature), []
        except DataError as error:
            problems = [str(error)]
    return None, [f"{line}{problem}" for problem in problems]


def _other_problems(content: Mapping[str, Any], error: ValidationError, places: Places) -> list[str]:
    """Return the problems of an annotation that the errors of its form would hide."""
    wrong = {detail["loc"][:2] if detail["loc"][0] == "features" else detail["loc"][:1] for detail in error.errors()}
    label, features = content.get("label"), content.get("features")
    problems = [] if ("label",) in wrong else _label_problems(LabelTable.model_validate(label), places)
    for number, feature in enumerate(features if isinstance(features, list) else []):
        line = places.line("features", number)
        if ("features", number) not in wrong:
            problems += _checked(FeatureTable.model_validate(feature), line)[1]
        elif isinstance(feature, Mapping) and not {"interval", "categories"} & feature.keys():
            problems.append(
                f"{line}feature {feature.get('name')!r}: a numerical feature needs the key 'interval', "
                "[minimum, maximum], a categorical one the key 'categories', all of them in a list"
            )
    return problems


def _text_of(path: Path) -> str:
    refuse_device(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(
            f"{path} does not exist; every data set's folder needs one. `cfbench datasets annotate TABLE.csv` writes "
            "a first one; see docs/add-a-dataset.md"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}. It must be a readable text file in UTF-8") from error


def _toml(origin: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(
            f"{origin} is not valid TOML: {error}. Correct that place, see docs/add-a-dataset.md"
        ) from error
    except RecursionError:
        raise DataError(f"{origin} cannot be read: its tables or lists are nested too deeply; flatten them") from None
    except ValueError:  # Python refuses to read them, since that takes time
        raise DataError(f"{origin} cannot be read: it has a number of thousands of digits; shorten it") from None


_RELATION = re.compile(r"^\s*\[\[\s*relations\s*\]\]")


def _relations(
    text: str, table: AnnotationTable, features: tuple[FeatureSpec, ...]
) -> tuple[tuple[Relation, ...], list[str]]:
    """Return the relations, or what is wrong with them, with the lines of the file."""
    lines = enumerate(text.splitlines(), start=1)
    places = [f"{FILE_NAME}, line {number}" for number, line in lines if _RELATION.match(line)]
    spellings = [tuple(feature.categories or ()) for feature in table.features]
    found: list[Relation] = []
    problems = []
    for number, content in enumerate(table.relations):
        place = places[number] if len(places) == len(table.relations) else f"{FILE_NAME}, relation {number + 1}"
        try:
            found += read_relations([content], features, spellings=spellings, places=[place])
        except DataError as error:
            problems.append(str(error))
    if not problems and found:
        clash = contradiction(found, features)
        if len(clash) == 1:
            problems = [f"no row inside the intervals keeps the {clash[0].name}; correct it, or widen the intervals"]
        elif clash:
            names = " and the ".join(relation.name for relation in clash)
            problems = [f"no row keeps the {names} together: they contradict each other; correct or remove one"]
    return (() if problems else tuple(found)), problems


def _label_problems(label: LabelTable, places: Places) -> list[str]:
    problems = []
    if len(set(label.classes)) < len(label.classes):
        problems.append(("classes", f"'classes' lists a class twice: {', '.join(label.classes)}; list each once"))
    if len(set(label.classes)) < 2:
        problems.append(("classes", f"'classes' needs two classes at least, not {label.classes}"))
    if label.target not in label.classes:
        problems.append(("target", str(UnknownNameError("target class", label.target, label.classes))))
    if label.meanings and len(label.meanings) != len(label.classes):
        listed = f"'meanings' has {len(label.meanings)} entries for {len(label.classes)} classes"
        problems.append(("meanings", f"{listed}; give one per class, in the order of 'classes'"))
    return [f"{places.line('label', key)}[label]: {problem}" for key, problem in problems]


def _contradictions(feature: FeatureTable) -> list[str]:
    """Return the contradictions between the keys of one feature; FeatureSpec checks single values."""
    problems = []
    moved = feature.perturbation
    if feature.kind == "numerical":
        if feature.interval is None:
            problems.append("a numerical feature needs the key 'interval', [minimum, maximum]")
        if feature.categories is not None or feature.labels is not None:
            problems.append("a numerical feature has no 'categories' and no 'labels'; remove them or change its kind")
        if moved is not None and (moved.categories is not None or (moved.decrease, moved.increase) == (None, None)):
            problems.append("a numerical feature's perturbation is { decrease = ..., increase = ... }")
    else:
        if feature.categories is None:
            problems.append("a categorical feature needs the key 'categories', all of them in a list")
        if feature.interval is not None:
            problems.append("a categorical feature has no 'interval'; remove it or change its kind")
        if moved is not None and (moved.categories is None or (moved.decrease, moved.increase) != (None, None)):
            problems.append('a categorical feature\'s perturbation is { categories = [...] } or { categories = "all" }')
        categories = feature.categories or []
        if len(set(categories)) < len(categories):
            problems.append(f"'categories' lists a category twice: {', '.join(categories)}; list each once")
        if feature.labels is not None and len(feature.labels) != len(categories):
            problems.append(
                f"it has {len(feature.labels)} labels for {len(categories)} categories; give one per category"
            )
        problems += [
            str(UnknownNameError("category of the perturbation", value, categories))
            for value in (moved.categories if moved and isinstance(moved.categories, list) else [])
            if value not in categories
        ]
    return [f"feature {feature.name!r}: {problem}" for problem in problems]


def _spec(feature: FeatureTable) -> FeatureSpec:
    categories = feature.categories or []
    lower, upper = feature.interval or (0.0, len(categories) - 1.0)
    return FeatureSpec(
        name=feature.name,
        kind=Kind(feature.kind),
        lower=lower,
        upper=upper,
        categories=tuple(feature.labels or categories),
        constraint=Constraint(feature.constraint),
        perturbation=_perturbation(feature),
        step=feature.step,
        unit=feature.unit,
        description=feature.description,
    )


def _perturbation(feature: FeatureTable) -> NumericalPerturbation | CategoricalPerturbation | None:
    moved = feature.perturbation
    if moved is None:
        return None
    if feature.kind == "numerical":
        return NumericalPerturbation(moved.decrease or 0.0, moved.increase or 0.0, moved.relative)
    categories = feature.categories or []
    reachable = categories if moved.categories == "all" else moved.categories or []
    return CategoricalPerturbation(tuple(sorted(categories.index(value) for value in reachable)))
