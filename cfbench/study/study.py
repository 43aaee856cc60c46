"""A study: which cells to run and how, written in TOML or built in Python. ``docs/studies.md`` describes every key."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    WithJsonSchema,
)

from cfbench.errors import StudyError, UnknownNameError
from cfbench.space.dataset import N_FOLDS
from cfbench.study.variants import faults_of, is_json_like, listing, parse_variant, shown

AXES = ("datasets", "models", "searchers", "objectives", "constraints", "folds")
"""The lists whose combinations are the cells."""


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    repeated = [value for position, value in enumerate(values) if value in values[:position]]
    if repeated:
        raise ValueError(f"must name each value once, but {shown(repeated[0])} is repeated")
    return values


def _printable(text: str) -> str:
    # Blanks of other scripts, soft hyphens and undecodable bytes occur in names of folders.
    bad = [sign for sign in text if unicodedata.category(sign) in ("Cc", "Zl", "Zp")]
    if bad:
        raise ValueError(f"must hold no control characters and no line breaks; it holds U+{ord(bad[0]):04X}")
    return text


def _readable(text: str) -> str:
    try:
        parse_variant(text)
    except StudyError as error:
        raise ValueError(str(error)) from None
    return text


def _all_or_count(value: Any) -> Any:
    if value is None or value == "all":
        return None
    if type(value) is int and value >= 1:
        return value
    raise ValueError('must be a whole number of at least 1, or "all"')


def _json_like(settings: dict[str, Any]) -> dict[str, Any]:
    odd = [key for key, value in settings.items() if not is_json_like(value)]
    if odd:
        raise ValueError(f"must be made of finite numbers, strings, true, false, lists and tables; {odd[0]!r} is not")
    return settings


def _written(path: object) -> object:
    if isinstance(path, str) and not path.strip():
        raise ValueError('must not be empty; the current directory is "."')
    return path


def _folder(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must hold no NUL character, which no path can have")
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("begins with ~ and an unknown user name; write the full path") from None


Text = Annotated[str, Strict(), AfterValidator(_printable)]
Word = Annotated[Text, Field(min_length=1)]
Count = Annotated[int, Strict(), Field(ge=1)]
Repetitions = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
Workers = Annotated[int, Strict(), Field(ge=1, le=4096)]
_POINTS_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]}
Points = Annotated[int | None, BeforeValidator(_all_or_count), WithJsonSchema(_POINTS_SCHEMA)]
Words = Annotated[tuple[Word, ...], AfterValidator(_once)]
Names = Annotated[tuple[Word, ...], Field(min_length=1), AfterValidator(_once)]
Variant = Annotated[Word, AfterValidator(_readable)]
Variants = Annotated[tuple[Variant, ...], AfterValidator(_once)]
SomeVariants = Annotated[tuple[Variant, ...], Field(min_length=1), AfterValidator(_once)]
Switches = Annotated[tuple[Annotated[bool, Strict()], ...], Field(min_length=1), AfterValidator(_once)]
FoldNumber = Annotated[int, Strict(), Field(ge=0, le=N_FOLDS - 1)]
Folds = Annotated[tuple[FoldNumber, ...], Field(min_length=1), AfterValidator(_once)]
EntrySettings = Annotated[dict[str, Any], AfterValidator(_json_like)]


class _StudyTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyPart(_StudyTable):
    """A part of a study: combinations of its own lists. Other keys are the study's.

    A cell that several parts name has the largest number of points and of repetitions of these parts.
    """

    datasets: Names | None = None
    models: SomeVariants | None = None
    searchers: SomeVariants | None = None
    objectives: SomeVariants | None = None
    constraints: Switches | None = None
    folds: Folds | None = None
    points: Points = None
    repetitions: Repetitions | None = None


class Cap(_StudyTable):
    """Fewer points or repetitions for a slow searcher."""

    points: Count | None = None
    repetitions: Repetitions | None = None


class Study(_StudyTable):
    """What to run.

    Every combination of `datasets`, `models`, `searchers`, `objectives`, `constraints` and `folds` is a cell; with
    `parts`, every combination within a part.

    Parameters
    ----------
    name : str
    datasets : tuple of str
        Registered names, or paths of data-set folders.
    models, searchers, objectives : tuple of str
        Registered names, with settings in brackets where they differ from `settings` and from the defaults.
    metrics : tuple of str or None
        As above. None: the metrics that are registered as defaults.
    constraints : tuple of bool
        Whether the constraints hold; both are allowed at once.
    folds : tuple of int
    points : int or None
        Eligible points of each fold, drawn by the seed: the first 5 of 20 are the 5 of a smaller study. None: all.
    repetitions : int
        Searches per point.
    seed : int
    time_limit : float or None
        Wall-clock seconds per search.
    query_budget : int or None
        Most queries of the model per search; None: the searcher's own default.
    prepare_time_limit : float or None
        Wall-clock seconds of a searcher's preparation in a worker process; None: an hour. Past it, the cell fails.
    prepare_budget : int or None
        Most queries of a preparation; None: no limit, they are only counted.
    respect_steps : bool
        Whether a value off its feature's step is invalid.
    workers : int
        Processes that search; results do not depend on it.
    results : Path
        The record's directory.
    tracking : str
        MLflow's address; empty: the default one; "none": off.
    settings : dict of str to dict
        Settings by entry name, for every use of the entry; settings in brackets win over them.
    parts : tuple of StudyPart
    at_most : dict of str to Cap
        Fewer points or repetitions, by searcher name.
    reference : str
        The searcher that leaderboards of the record compare the others with; empty: the starting preset's.
    optional_datasets : tuple of str
        Data sets that are skipped with a note if they are unavailable. A missing table of any other is an error.
    notes : tuple of str
        What readers should know before the run.

    Examples
    --------
    >>> from cfbench import Study
    >>> searchers = ["cogs[population_size=500]", "lore"]
    >>> study = Study(datasets=["wine"], models=["random-forest"], searchers=searchers, points=20)
    >>> study.searchers
    ('cogs[population_size=500]', 'lore')
    >>> study.repetitions, study.folds
    (5, (0, 1, 2, 3, 4))
    """

    name: Word = "study"
    datasets: Names
    models: SomeVariants
    searchers: SomeVariants
    objectives: SomeVariants = ("none",)
    metrics: Variants | None = None
    constraints: Switches = (False,)
    folds: Folds = tuple(range(N_FOLDS))
    points: Points = None
    repetitions: Repetitions = 5
    seed: Annotated[int, Strict(), Field(ge=0)] = 42
    time_limit: Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)] | None = None
    query_budget: Count | None = None
    prepare_time_limit: Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)] | None = None
    prepare_budget: Count | None = None
    respect_steps: Annotated[bool, Strict()] = False
    workers: Workers = 1
    results: Annotated[Path, BeforeValidator(_written), AfterValidator(_folder)] = Path("results")
    tracking: Text = ""
    settings: dict[str, EntrySettings] = Field(default_factory=dict)
    parts: tuple[StudyPart, ...] = ()
    at_most: dict[str, Cap] = Field(default_factory=dict)
    reference: Text = ""
    optional_datasets: Words = ()
    notes: tuple[Text, ...] = ()


def make_study(keys: Mapping[str, Any], where: str = "study") -> Study:
    """Check a study's keys.

    Raises StudyError if a key is unknown, missing, of the wrong type or out of range. The message names all such keys.
    """
    try:
        return Study.model_validate(dict(keys))
    except ValidationError as error:
        faults = faults_of(error, keys, _unknown_key)
        raise StudyError(listing(where, faults)) from None


def read_study(path: Path) -> Study:
    """Read a study from a TOML file. Without a `name`, the study has the file's name.

    Raises StudyError if the file cannot be read, is not TOML, or is not a study.
    """
    return make_study({"name": path.stem, **read_keys(path)}, str(path))


def read_keys(path: Path) -> dict[str, Any]:
    """Read a study's keys from a TOML file; they are not checked yet.

    Raises StudyError if the file cannot be read or is not TOML.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise StudyError(f"{path} is a pipe or a device; a study is read again when its run goes on: save it as a file")
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise StudyError(f"study file {path}: {reason[:1].lower()}{reason[1:]}; give the path of a TOML file") from None
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: byte {error.start} is not UTF-8 text; save the study as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{path}: not TOML: {error}; docs/studies.md shows a whole study") from None
    except RecursionError:
        raise StudyError(f"{path}: its tables or lists are nested too deeply; flatten them") from None
    except ValueError:  # Python refuses to read them, since that takes time
        raise StudyError(f"{path}: it has a number of thousands of digits; shorten it") from None


def override(study: Study, where: str = "command line", **changes: Any) -> Study:
    """Return the study with some keys replaced, everywhere in it.

    A list replaces the study's. Each part keeps what it shares with the list, and a part that shares nothing with it is
    left out; where that would leave out something that is named here, the list replaces that of every part, too.
    `points` and `repetitions` replace those of parts and lift the caps of `at_most`; `settings` are added to the
    study's, entry by entry; named data sets are no longer optional.

    Raises StudyError: as `make_study`.
    """
    keys: dict[str, Any] = study.model_dump(exclude_unset=True)
    given = {axis: list(changes[axis]) for axis in AXES if isinstance(changes.get(axis), (list, tuple))}
    if given and study.parts:
        parts = _narrowed(study, given)
        if not all(any(value in part[axis] for part in parts) for axis, values in given.items() for value in values):
            parts = [part.model_dump(exclude_unset=True, exclude=set(given)) for part in study.parts]
        # Parts that differed in what was replaced are one now; one that gives no list is the study itself.
        different = [part for position, part in enumerate(parts) if part not in parts[:position]]
        keys["parts"] = different if any(different) else []
    lifted = {"points", "repetitions"} & set(changes)
    if lifted and study.parts:
        kept = keys["parts"]
        keys["parts"] = [{key: value for key, value in part.items() if key not in lifted} for part in kept]
    if lifted and study.at_most:
        caps = {name: cap.model_dump(exclude_unset=True, exclude=lifted) for name, cap in study.at_most.items()}
        keys["at_most"] = {name: cap for name, cap in caps.items() if cap}
    if "datasets" in changes:
        keys["optional_datasets"] = []
    if isinstance(changes.get("settings"), Mapping):
        changes["settings"] = study.settings | {
            name: study.settings.get(name, {}) | table if isinstance(table, dict) else table
            for name, table in changes["settings"].items()
        }
    return make_study({**keys, **changes}, where)


def _narrowed(study: Study, given: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the parts' tables with the values that they share with the given lists, without empty parts."""
    tables = []
    for part in study.parts:
        shared = {}
        for axis, values in given.items():
            own = getattr(part, axis)
            shared[axis] = [value for value in (getattr(study, axis) if own is None else own) if value in values]
        if all(shared.values()):
            tables.append(part.model_dump(exclude_unset=True) | shared)
    return tables


def _unknown_key(path: tuple[str | int, ...]) -> str:
    if len(path) == 1:
        hint = "Settings of an entry go into a table of its name: [settings.NAME]."
        return str(UnknownNameError("key", str(path[0]), Study.model_fields, hint))
    owner: type[BaseModel] = StudyPart if path[0] == "parts" else Cap
    return str(UnknownNameError("key", str(path[-1]), owner.model_fields))
