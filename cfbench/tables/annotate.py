"""A first annotation of a table: kinds, intervals, steps, categories, and what a person has to decide as comments."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.caches import cache_folder
from cfbench.errors import DataError, UnknownNameError
from cfbench.files import make_directory, write_atomically
from cfbench.space.dataset import Dataset
from cfbench.tables.annotation import FILE_NAME, parse_annotation
from cfbench.tables.columns import (
    TextColumn,
    are_codes,
    common_step,
    may_be_the_label,
    objection,
    reason_to_ignore,
    rounded_outwards,
)
from cfbench.tables.detect import GAPS, FoundTable, as_numbers, read_any, read_frame
from cfbench.tables.folder import FEWEST_ROWS_A_CLASS, TABLE_NAME, TextTable, make_dataset
from cfbench.text import plural, visible

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 20


class TableError(DataError):
    """A table that cannot be annotated as it is.

    `ignore` and `drop_missing` are options with which it can: columns to ignore, and whether rows with gaps have to go.
    """

    def __init__(self, message: str, ignore: Sequence[str] = (), *, drop_missing: bool = False) -> None:
        super().__init__(message)
        self.ignore = tuple(ignore)
        self.drop_missing = drop_missing


@dataclass(frozen=True, eq=False)
class AnnotatedTable:
    """A table with a first annotation, which `cfbench.run` takes as a data set.

    Parameters
    ----------
    name : str
        The name of the table, and of the folder that `save` makes.
    annotation : str
        The text of annotations.toml. A comment with "decide:" asks what a table does not say.
    table : TextTable
        The rows of data.csv.
    dataset : Dataset
        What a run uses.
    notes : tuple of str
        What was found out, and what was done with it.
    """

    name: str
    annotation: str
    table: TextTable
    dataset: Dataset
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        """Number of places where the annotation asks for a decision."""
        return self.annotation.count("# decide:")

    def save(self, folder: Path | str) -> Path:
        """Write annotations.toml and data.csv, and return the folder. Nothing is overwritten.

        Raises
        ------
        DataError
            If one of the files exists already, or the folder cannot be written.
        """
        folder = Path(folder)
        files = self._files()
        for name in files:
            if (folder / name).exists():
                raise DataError(f"{folder / name} exists already, and nothing is overwritten; name another folder")
        try:
            make_directory(folder)
            for name, content in files.items():
                write_atomically(folder / name, content)
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror}; name another folder") from error
        return folder

    def keep(self) -> Path:
        """Return the folder of this table in the user's cache; it is written if it is not there."""
        digest = blake2b(b"".join(self._files().values()), digest_size=16).hexdigest()
        label = re.sub(r"[^\w-]+", "-", self.name).strip("-") or "table"
        folder = cache_folder("tables") / digest / label
        return folder if (folder / FILE_NAME).is_file() else self.save(folder)

    def _files(self) -> dict[str, bytes]:
        """Return the files' contents, annotations.toml last: where it is, the folder is complete."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.table.header)
        writer.writerows(self.table.rows)
        return {TABLE_NAME: text.getvalue().encode(), FILE_NAME: self.annotation.encode()}

    def __str__(self) -> str:
        """Say what was found out, and how many decisions are open."""
        asked = f'{plural(self.questions, "place")} of {FILE_NAME} ask for a decision; look for "decide:"'
        return "\n".join([f"{self.name}: {plural(self.dataset.n, 'row')}", *self.notes, asked])

    __repr__ = __str__


@dataclass(frozen=True)
class Choices:
    """What the user says about a table.

    `kinds` are "numerical" or "categorical" by column.
    """

    label: str = ""
    target: str = ""
    ignore: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    drop_missing: bool = False
    missing_as: str = ""
    on_command_line: bool = False

    def option(self, name: str, value: str = "") -> str:
        """Return how the user writes an option."""
        if self.on_command_line:
            return f"--{name.replace('_', '-')}{f' {value}' if value else ''}"
        return f"{name}={f'{value!r}' if value else 'True'}"


def annotate_file(path: Path, choices: Choices) -> AnnotatedTable:
    """Return a first annotation of the table in a file.

    Raises
    ------
    DataError
        If the file is no table, or with everything that keeps the table from being annotated.
    """
    return _annotate(path.stem or path.name, read_any(path), choices, path.name)


def annotate(
    frame: pd.DataFrame,
    *,
    label: str | None = None,
    target: object = None,
    ignore: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
    drop_missing: bool = False,
    missing_as: str | None = None,
    name: str = "table",
) -> AnnotatedTable:
    """Return a first annotation of a data frame, as ``cfbench datasets annotate`` makes it of a file.

    Parameters
    ----------
    frame : DataFrame
        A row per case; a column for the class, and one for each feature.
    label : str, optional
        The column that holds the class. By default the last column that can be one.
    target : optional
        The class that users want, as the column has it. By default "yes", "true", "1" or the last class.
    ignore : iterable of str
        Columns that no model may use.
    kinds : mapping of str to str, optional
        "numerical" or "categorical", for columns whose kind is not to be found out.
    drop_missing : bool
        Whether rows with gaps are left out.
    missing_as : str, optional
        A category for the gaps of categorical columns.
    name : str
        The data set's name.

    Returns
    -------
    AnnotatedTable
        `cfbench.run` takes it among its data sets. Its `save` writes the folder, to edit the annotation.

    Raises
    ------
    DataError
        With everything that keeps the table from being annotated, such as dates, texts and gaps.

    Examples
    --------
    >>> import cfbench
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 31, 38, 45, 59] * 8, "job": ["none", "clerk"] * 20})
    >>> frame["repaid"] = frame["age"] > 35
    >>> loans = cfbench.annotate(frame, label="repaid", target=True, name="loans")
    >>> age, job = loans.dataset.space.features
    >>> (age.lower, age.upper, age.step), job.categories, loans.dataset.class_labels
    ((20.0, 60.0, 1.0), ('clerk', 'none'), ('True', 'False'))
    """
    if isinstance(target, float) and target.is_integer():
        target = int(target)
    choices = Choices(
        label=label or "",
        target="" if target is None else str(target),
        ignore=tuple(ignore),
        kinds=kinds or {},
        drop_missing=drop_missing,
        missing_as=missing_as or "",
    )
    return _annotate(name, read_frame(frame, name), choices, "a data frame")


def _annotate(name: str, found: FoundTable, choices: Choices, origin: str) -> AnnotatedTable:
    table = found.table
    _check_names(table, choices)
    columns = {
        one: TextColumn(one, table.column(one), table.lines, found.decimal_comma)
        for one in table.header
        if one not in choices.ignore
    }
    reasons = dict.fromkeys(choices.ignore, "as you say")
    for column in columns.values():
        if column.name != choices.label and column.name not in choices.kinds:
            reason = reason_to_ignore(column)
            reasons |= {column.name: reason} if reason else {}
    used = {one: column for one, column in columns.items() if one not in reasons}
    label = choices.label or _likely_label(used)
    categorical = {one for one, column in used.items() if one != label and _is_categorical(column, choices)}
    problems, proposed = _problems(used, label, choices, categorical)
    if not label:
        problems.append(
            "no column can be the class, with 2 to 10 values in at least five rows each; name it: "
            f"{choices.option('label', 'COLUMN')}"
        )
    gaps = _Gaps({one: column for one, column in used.items() if one not in proposed}, categorical, choices)
    problems += gaps.problems()
    if problems:
        listing = "".join(f"\n  - {problem}" for problem in problems)
        message = f"{table.origin} cannot be annotated as it is, {plural(len(problems), 'problem')}:{listing}"
        raise TableError(message, [*choices.ignore, *proposed], drop_missing=bool(gaps.in_the_way))
    kept = gaps.kept_rows()
    if not kept:
        counts = ", ".join(f"{one} {column.gaps:,}" for one, column in used.items() if column.gaps)
        raise TableError(f"{table.origin}: every row has a gap ({counts}); ignore the columns with the most gaps")
    if len(kept) < len(table.rows):
        used = {one: _part(column, kept) for one, column in used.items()}
        for column in used.values():
            reason = reason_to_ignore(column)
            if column.name != label and reason.startswith("all its"):
                reasons[column.name] = f"{reason} in the rows that are left"
        problem = _label_problem(used[label], choices)
        if problem:
            left = f"{plural(len(kept), 'row')} without gaps"
            raise TableError(f"{table.origin} cannot be annotated with its {left}: column {label!r}: {problem}")
    features = [column for one, column in used.items() if one != label and one not in reasons]
    if not features:
        raise TableError(f"{table.origin} has no column for a feature: {_listed(reasons)}")
    order = {one: place for place, one in enumerate(table.header)}
    ignored = sorted(reasons, key=order.__getitem__)
    rows = _rows(table, used, kept, {label, *categorical}, choices.missing_as)
    made = _Writer(origin, used[label], features, ignored, choices, categorical)
    text = made.text(name)
    annotation, _ = parse_annotation(FILE_NAME, text)
    result = TextTable(f"{table.origin}, annotated", table.header, rows)
    form = f"{found.form}; " if found.form else ""
    notes = [f"{origin}: {form}{plural(len(table.rows), 'row')}, {plural(len(table.header), 'column')}"]
    notes += [*found.notes, *gaps.notes(kept)]
    notes += [f"ignored: {_listed({one: reasons[one] for one in ignored})}"] if ignored else []
    notes += made.notes()
    return AnnotatedTable(name, text, result, make_dataset(name, annotation, result), tuple(notes))


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name!r} ({reason})" for name, reason in reasons.items())


def _part(column: TextColumn, kept: Sequence[int]) -> TextColumn:
    lines = tuple(column.lines[row] for row in kept) if column.lines else ()
    return TextColumn(column.name, [column.cells[row] for row in kept], lines, column.decimal_comma)


def _check_names(table: TextTable, choices: Choices) -> None:
    named = [choices.label] if choices.label else []
    for name in [*named, *choices.ignore, *choices.kinds]:
        if name not in table.header:
            raise UnknownNameError("column", name, table.header)
    for name, kind in choices.kinds.items():
        if kind not in ("numerical", "categorical"):
            raise DataError(f"the kind of column {name!r} is {kind!r}; allowed: 'numerical', 'categorical'")
    if choices.label in (*choices.ignore, *choices.kinds):
        raise DataError(f"{choices.label!r} is the label column; it cannot be ignored, and it has no kind")
    if choices.target and not choices.label:
        raise DataError(f"the target {choices.target!r} needs the column of the classes, too: name it as the label")


_LABELS = ("label", "class", "target", "y", "outcome")


def _likely_label(used: Mapping[str, TextColumn]) -> str:
    """Return the column that most likely holds the class: by its name, or the last with few values."""
    able = [name for name, column in used.items() if may_be_the_label(column)]
    named = [name for name in able if name.lower() in _LABELS]
    return (named or able or [""])[-1]


def _problems(
    used: Mapping[str, TextColumn], label: str, choices: Choices, categorical: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return what is wrong with single columns, and the columns that may be ignored for it."""
    problems, proposed = [], []
    for name, column in used.items():
        kind = choices.kinds.get(name)
        if name == label:
            problem = _label_problem(column, choices)
        elif kind == "categorical":
            problem = ""
        elif kind == "numerical" and column.numbers is not None and len(column.different) == 1:
            problem = f"all its values are {column.different[0]:g}; a number needs two at least"
        elif kind == "numerical" and column.numbers is None:
            cell = next((one for one in column.counts if not as_numbers([one], decimal_comma=column.decimal_comma)), "")
            problem = f"{column.where(cell)} is no number" if cell else "its leading zeros are no part of a number"
        else:
            problem = objection(column)
            filled = choices.drop_missing or (choices.missing_as and name in categorical)
            if not problem and 2 * column.gaps > len(column.cells) and not filled:
                problem = (
                    f"{column.gaps:,} of {plural(len(column.cells), 'cell')} are gaps. Fill them, or ignore the column"
                )
            proposed += [name] if problem else []
        problems += [f"column {name!r}: {problem}"] if problem else []
    return problems, proposed


def _label_problem(column: TextColumn, choices: Choices) -> str:
    categories = column.categories()
    if column.numbers is not None and (len(categories) > MOST_CLASSES or not column.whole):
        return (
            f"the label has {len(categories):,} different numbers; it needs a few classes. Make a column of them, such "
            f"as whether {column.name} is above {_text(column.different[len(column.different) // 2])}"
        )
    if len(categories) < 2 or len(categories) > MOST_CLASSES:
        return f"the label has {plural(len(categories), 'class')}; allowed: 2 to {MOST_CLASSES}"
    counts = column.category_counts()
    few = [f"{name!r} ({plural(counts[name], 'row')})" for name in categories if counts[name] < FEWEST_ROWS_A_CLASS]
    if few:
        return (
            f"each class of the label needs at least {FEWEST_ROWS_A_CLASS} rows, one for each fold: {', '.join(few)}; "
            "add rows, or merge these classes with others"
        )
    if choices.target and choices.target not in categories and choices.target not in column.counts:
        return str(UnknownNameError("target class", choices.target, categories))
    return ""


class _Gaps:
    """Missing values of the columns that are used, and what is done about them."""

    def __init__(self, used: Mapping[str, TextColumn], categorical: Collection[str], choices: Choices) -> None:
        self._choices = choices
        self._with_gaps = {name: column for name, column in used.items() if column.gaps}
        self._categories = [name for name in self._with_gaps if name in categorical]
        filled = self._categories if choices.missing_as else []
        left = [column for name, column in self._with_gaps.items() if name not in filled]
        self._n = len(next(iter(used.values())).cells) if used else 0
        cells = [column.cells for column in left]
        self._rows = [row for row in range(self._n) if any(one[row] in GAPS for one in cells)]
        self.in_the_way = [] if choices.drop_missing else [column.name for column in left]

    def problems(self) -> list[str]:
        if not self.in_the_way:
            return []
        counts = ", ".join(f"{name} {self._with_gaps[name].gaps:,}" for name in self.in_the_way)
        drop = self._choices.option("drop_missing")
        ways = [f"leave these rows out ({drop}; {plural(self._n - len(self._rows), 'row')} stay)"]
        if not self._choices.missing_as and self._categories:
            fill = self._choices.option("missing_as", "unknown")
            ways.append(f"give gaps of categories a category of their own ({fill}; for {', '.join(self._categories)})")
        ways += ["fill them by a rule of your own and begin again", "ignore the column"]
        signs = sorted({cell for name in self.in_the_way for cell in GAPS.intersection(self._with_gaps[name].cells)})
        read = f" Cells read as gaps: {', '.join(map(repr, signs))}." if signs != [""] else ""
        return [
            f"{plural(len(self._rows), 'row')} of {self._n:,} have gaps ({counts}).{read} Ways out: {'; '.join(ways)}"
        ]

    def kept_rows(self) -> list[int]:
        without = set(self._rows)
        return [row for row in range(self._n) if row not in without]

    def notes(self, kept: Sequence[int]) -> list[str]:
        notes = []
        if len(kept) < self._n:
            counts = ", ".join(f"{name} {column.gaps:,}" for name, column in self._with_gaps.items())
            notes.append(f"{plural(self._n - len(kept), 'row')} with gaps are left out ({counts})")
        if self._choices.missing_as and self._categories:
            names = ", ".join(self._categories)
            notes.append(f"gaps are the category {self._choices.missing_as!r} in {names}")
        return notes


def _is_categorical(column: TextColumn, choices: Choices) -> bool:
    kind = choices.kinds.get(column.name)
    return kind == "categorical" or (kind is None and (column.numbers is None or are_codes(column)))


def _rows(
    table: TextTable, used: Mapping[str, TextColumn], kept: Sequence[int], categories: Collection[str], missing_as: str
) -> list[list[str]]:
    """Return the rows of data.csv, with numbers as Python writes them and categories as they are annotated."""
    cells = []
    for place, name in enumerate(table.header):
        column = used.get(name)
        if column is None:
            cells.append([table.rows[row][place] for row in kept])
            continue
        spell = column.category if name in categories else column.canonical
        spelled = {cell: spell(cell) or missing_as for cell in set(column.cells)}
        cells.append([spelled[cell] for cell in column.cells])
    return [list(row) for row in zip(*cells, strict=True)]


def _text(number: float | Decimal) -> str:
    """Return a number as TOML and people read it."""
    value = Decimal(repr(number)) if isinstance(number, float) else number
    if value and not -6 <= value.adjusted() <= 15:
        return repr(float(value))
    return format(value.normalize(), "f") if value else "0"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_DEFAULT_TARGETS = ("yes", "true", "1", "good", "ja", "oui", "si", "y", "t")


class _Writer:
    """The text of annotations.toml, and what is said about the features."""

    def __init__(
        self,
        origin: str,
        label: TextColumn,
        features: Sequence[TextColumn],
        ignored: Sequence[str],
        choices: Choices,
        categorical: Collection[str],
    ) -> None:
        self._origin = origin
        self._label = label
        self._features = features
        self._ignored = ignored
        self._choices = choices
        self._categorical = [one.name for one in features if one.name in categorical]
        self._classes = label.categories()
        likely = [one for one in self._classes if one.lower() in _DEFAULT_TARGETS]
        given = choices.target
        if given:
            self._target = given if given in self._classes else label.category(given)
        else:
            self._target = [*self._classes[-1:], *likely][-1]
        self._codes = [one.name for one in features if self._asks_for_kind(one)]

    def _asks_for_kind(self, column: TextColumn) -> bool:
        is_code = column.numbers is not None and column.name in self._categorical
        return is_code and column.name not in self._choices.kinds

    def notes(self) -> list[str]:
        counts = self._label.category_counts()
        classes = ", ".join(f"{one} ({plural(counts[one], 'row')})" for one in self._classes)
        numerical = len(self._features) - len(self._categorical)
        asked = "" if self._choices.label else ", which is a guess"
        chosen = "" if self._choices.target else ", which is a guess"
        notes = [
            f"label: {self._label.name!r}{asked}, with the classes {classes}; target: {self._target}{chosen}",
            f"features: {len(self._features)}, {numerical} numerical and {len(self._categorical)} categorical",
        ]
        if self._codes:
            notes.append(f"whole numbers with few values are categories: {', '.join(self._codes)}")
        return notes

    def text(self, name: str) -> str:
        """Return the whole file."""
        parts = [
            f"# A first annotation of {visible(self._origin)}. It can be used as it is.\n"
            '# Comments with "decide:" ask what a table does not say, and name the default that applies.\n'
            "# The keys: docs/add-a-dataset.md. To check the folder: cfbench datasets check FOLDER\n",
            f'title = {_quoted(name)}\nuser = "Individual"\nignore = [{", ".join(map(_quoted, self._ignored))}]\n',
            self._label_table(),
            *(self._feature_table(column) for column in self._features),
        ]
        return "\n".join(parts)

    def _label_table(self) -> str:
        others = [column.name for column in self._features][-5:]
        asked = f"  # decide: is it the class? The default is a guess; other columns: {', '.join(map(visible, others))}"
        target = "  # decide: which class do users want? The default is a guess"
        return "\n".join(
            [
                "[label]",
                f"column = {_quoted(self._label.name)}{'' if self._choices.label else asked}",
                f"classes = [{', '.join(map(_quoted, self._classes))}]",
                f"target = {_quoted(self._target)}{'' if self._choices.target else target}",
                "",
            ]
        )

    def _feature_table(self, column: TextColumn) -> str:
        categorical = column.name in self._categorical
        lines = ["[[features]]", f"name = {_quoted(column.name)}"]
        lines += self._categories(column) if categorical else self._interval(column)
        return "\n".join([*lines, ""])

    def _interval(self, column: TextColumn) -> list[str]:
        values = column.different
        step = common_step(values)
        lower, upper, unit = rounded_outwards(values, step)
        lines = [
            'kind = "numerical"',
            f"interval = [{_text(lower)}, {_text(upper)}]  # decide: which values make sense? The table has "
            f"{_text(values[0])} to {_text(values[-1])}",
        ]
        lines += [f"step = {_text(step)}"] if step is not None else []
        if len(column.counts) == column.n and column.whole:
            lines.append("# decide: every row has its own value; if it is an identifier, move its name to `ignore`")
        return [
            *lines,
            'constraint = "none"  # decide: how may a person change it? "none": freely (the default), "=": not at all, '
            '">=": upwards, "<=": downwards',
            f"# perturbation = {{ decrease = {_text(unit)}, increase = {_text(unit)} }}  # decide: may it change by "
            "itself later, and how far? The default is no",
        ]

    def _categories(self, column: TextColumn) -> list[str]:
        categories = column.categories()
        filled = self._choices.missing_as
        if column.gaps and filled and filled not in categories:
            categories.append(filled)
        lines = ['kind = "categorical"']
        if self._asks_for_kind(column):
            low, high = _text(column.different[0]), _text(column.different[-1])
            lines += [
                f"# decide: are {low} to {high} codes? That is the default. If they are amounts, replace kind and "
                "categories by",
                f'# kind = "numerical", interval = [{low}, {high}], step = 1, each on a line of its own',
            ]
        return [
            *lines,
            f"categories = [{', '.join(map(_quoted, categories))}]",
            'constraint = "none"  # decide: how may a person change it? "none": freely (the default), "=": not at all',
            '# perturbation = { categories = "all" }  # decide: may it change by itself later? The default is no',
        ]
