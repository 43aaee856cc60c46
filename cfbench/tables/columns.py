"""What a column of a table holds: numbers, categories, dates, identifiers; the interval and the step of its numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property

import numpy as np

from cfbench.space.feature import MOST_STEPS
from cfbench.space.space import are_multiples
from cfbench.tables.detect import GAPS, NUMBER, PADDED, as_numbers
from cfbench.tables.folder import FEWEST_ROWS_A_CLASS
from cfbench.text import plural

MOST_CATEGORIES = 50
"""A column of texts with more values than this, or with fewer than two rows per value, is no category."""

MOST_CODES = 10
ROWS_A_CODE = 10
"""Whole numbers with at most so many values, and so many rows per value, are read as codes of categories."""


@dataclass
class TextColumn:
    """A column that is being judged: its cells, and how often each value occurs without gaps."""

    name: str
    cells: list[str]
    lines: tuple[int, ...] = ()
    decimal_comma: bool = False

    def __post_init__(self) -> None:
        counts = Counter(self.cells)
        self.gaps = sum(counts.pop(gap, 0) for gap in GAPS)
        self.counts = counts
        numbers = as_numbers(counts, decimal_comma=self.decimal_comma) if counts else None
        self.padded = any(PADDED.fullmatch(value) for value in counts)
        self.numbers = None if self.padded else numbers
        """How Python writes the column's numbers, by their spellings; None if it has others than numbers."""

    @property
    def n(self) -> int:
        """Number of cells without gaps."""
        return len(self.cells) - self.gaps

    @cached_property
    def different(self) -> list[float]:
        """The different numbers, ascending."""
        assert self.numbers is not None
        return sorted({float(number) for number in self.numbers.values()})

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers, and small enough to be exact."""
        return self.numbers is not None and all(
            value.is_integer() and abs(value) <= MOST_STEPS for value in self.different
        )

    def canonical(self, cell: str) -> str:
        """Return a cell as data.csv spells it: numbers as Python writes them."""
        return "" if cell in GAPS else cell if self.numbers is None else self.numbers[cell]

    def category(self, cell: str) -> str:
        """Return the category of a cell: whole numbers without decimals, other cells as they are."""
        text = self.canonical(cell)
        return str(int(float(text))) if text and self.whole else text

    def categories(self) -> list[str]:
        """Return the categories: numbers in their order, others by frequency."""
        counts = self.category_counts()
        if all(NUMBER.fullmatch(value) for value in counts):
            return sorted(counts, key=lambda value: (float(value), value))
        return sorted(counts, key=lambda value: (-counts[value], value))

    def category_counts(self) -> Counter[str]:
        """Return how often each category occurs."""
        counts: Counter[str] = Counter()
        for value, count in self.counts.items():
            counts[self.category(value)] += count
        return counts

    def where(self, cell: str) -> str:
        """Return a cell with the line of the file on which it stands first."""
        line = f", line {self.lines[self.cells.index(cell)]}" if self.lines else ""
        return f"{_short(cell)!r}{line}"


def _short(cell: str) -> str:
    return cell if len(cell) <= 40 else f"{cell[:37]}..."


_ID = re.compile(r"(?:^|[\W_])(id|uuid|guid|identifier|index)$|^unnamed: 0$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DATES = [
    re.compile(text)
    for text in (
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?",
        r"\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ,].*)?",
        r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?",
        r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])",
        r"\d{1,2}[-. ]+[A-Za-z]{3,9}[-. ,]+\d{2,4}",
        r"[A-Za-z]{3,9}\.? \d{1,2},? \d{4}",
    )
]
_WITH_UNIT = re.compile(r"([<>~$€£¥]|[A-Z]{3} )? ?[+-]?\d[\d.,' ]*[ ]?([%°$€£¥]|[A-Za-z/²³]{1,6})?")


def are_dates(column: TextColumn) -> bool:
    """Return whether nearly all values of a column are dates or times."""
    values = list(column.counts)
    fitting = sum(any(form.fullmatch(value) for form in _DATES) for value in values)
    return bool(values) and fitting >= 0.9 * len(values)


def reason_to_ignore(column: TextColumn) -> str:
    """Return why a column is of no use to a model, or nothing."""
    if not column.counts:
        return "it is empty"
    if len(column.counts if column.numbers is None else column.different) == 1 and not column.gaps:
        return f"all its values are {_short(column.cells[0])!r}"
    all_differ = len(column.counts) == column.n >= FEWEST_ROWS_A_CLASS
    named = _ID.search(column.name) or _CAMEL_ID.search(column.name)
    if named and (all_differ or len(column.counts) > MOST_CATEGORIES):
        return "it is an identifier by its name"
    if all_differ and _counts_the_rows(column):
        return "it counts the rows"
    if all_differ and _are_identifiers(column):
        return f"it is an identifier: a different one per row, such as {_short(column.cells[0])!r}"
    return ""


def _counts_the_rows(column: TextColumn) -> bool:
    if not column.whole or column.different[-1] - column.different[0] != column.n - 1:
        return False
    in_order = [float(column.canonical(cell)) for cell in column.cells if cell not in GAPS] == column.different
    return in_order or column.different[0] in (0, 1)


def _are_identifiers(column: TextColumn) -> bool:
    """Return whether texts, which all differ, have one form of letters and digits, such as K-00017, or are UUIDs."""
    if column.numbers is not None or are_dates(column):
        return False
    forms = {re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", value)) for value in column.counts}
    one_form = len(forms) == 1 and re.fullmatch(r"(?=.*0)[\w-]+", next(iter(forms))) is not None
    return one_form or all(map(_UUID.fullmatch, column.counts))


def objection(column: TextColumn) -> str:
    """Return what keeps a column from being a category or a number, and what to do; or nothing."""
    if are_dates(column):
        return (
            f"it holds dates or times ({column.where(next(iter(column.counts)))}), and no searcher knows what they "
            "mean. Make a number of them, such as an age in years or the days before a fixed day, or ignore the column"
        )
    if column.numbers is not None:
        endless = next((cell for cell in column.counts if math.isinf(float(column.canonical(cell)))), None)
        return "" if endless is None else f"{column.where(endless)} is larger than the largest number; correct it"
    return "" if is_category(column) else _objection_to_texts(column)


def _objection_to_texts(column: TextColumn) -> str:
    some, values = column.where(next(iter(column.counts))), len(column.counts)
    others = [cell for cell in column.counts if not as_numbers([cell], decimal_comma=column.decimal_comma)]
    if column.padded and not others:
        problem = f"it holds {plural(values, 'code')} with leading zeros ({some}), too many for categories"
        advice = "Keep their first digits only"
    elif 2 * len(others) < values:
        count = sum(column.counts[cell] for cell in others)
        listed = ", ".join(column.where(cell) for cell in others[:5])
        signs = " or have another decimal sign" if any("," in cell for cell in others) else ""
        problem = f"it has numbers, and {plural(count, 'cell')} that are not{signs}: {listed}"
        advice = "Correct these cells, or empty them"
    elif sum(bool(_WITH_UNIT.fullmatch(cell)) for cell in column.counts) >= 0.9 * values:
        problem = f"it has numbers with signs or units ({some})"
        advice = "Leave only the number in each cell"
    else:
        what = "e-mail addresses" if "@" in some else "texts"
        problem = (
            f"it holds {what}, {values:,} different ones in {plural(column.n, 'row')} ({some}): too many for categories"
        )
        advice = "Give it fewer values"
    return f"{problem}. {advice}, or ignore the column"


def is_category(column: TextColumn) -> bool:
    """Return whether a column of texts has few enough values for categories."""
    return len(column.counts) <= MOST_CATEGORIES and column.n >= 2 * len(column.counts)


def are_codes(column: TextColumn) -> bool:
    """Return whether whole numbers are so few that they may be codes of categories."""
    values = len(column.different) if column.whole else 0
    return 2 <= values <= MOST_CODES and (values == 2 or column.n >= ROWS_A_CODE * values)


def may_be_the_label(column: TextColumn) -> bool:
    """Return whether a column can hold the classes: few values, each in enough rows."""
    if len(column.counts) > MOST_CATEGORIES:
        return False
    counts = column.category_counts()
    few = 2 <= len(counts) <= MOST_CODES and min(counts.values()) >= FEWEST_ROWS_A_CLASS
    return few and (column.numbers is None or column.whole)


def rounded_outwards(values: Sequence[float], step: Decimal | None) -> tuple[Decimal, Decimal, Decimal]:
    """Return an interval of round numbers around ascending `values`, and the distance of these round numbers.

    They are multiples of 1, 2 or 5 times a power of ten: ten to twenty-five of them fit between the values.
    """
    lower, upper = Decimal(repr(values[0])), Decimal(repr(values[-1]))
    tenth = (upper - lower) / 10
    power = Decimal(1).scaleb(tenth.adjusted())
    unit = max(power * factor for factor in (1, 2, 5) if power * factor <= tenth)
    if step is not None:
        unit = max(step, (unit / step).to_integral_value() * step)
    low = (lower / unit).to_integral_value(ROUND_FLOOR) * unit
    high = (upper / unit).to_integral_value(ROUND_CEILING) * unit
    return low, high, unit


MOST_DECIMALS = 2
"""Numbers with more decimals are measured rather than counted; they get no step."""


def common_step(values: Sequence[float]) -> Decimal | None:
    """Return the step of a column: 1 or 5 times a power of ten that divides all values; None if there is none."""
    decimals = [Decimal(repr(value)).normalize() for value in values]
    most = max(-int(value.as_tuple().exponent) for value in decimals)
    if most > MOST_DECIMALS:
        return None
    unit = Decimal(1).scaleb(-max(most, 0))
    common = math.gcd(*(int(value / unit) for value in decimals))
    power = 10 ** (len(str(common)) - 1)
    step = next((unit * size for size in _sizes(power) if common % size == 0), unit)
    largest = max(abs(values[0]), abs(values[-1]))
    fits = largest <= float(step) * MOST_STEPS and are_multiples(np.array(values), float(step)).all()
    return step if fits else None


def _sizes(power: int) -> Iterable[int]:
    while power >= 1:
        yield from (5 * power, power)
        power //= 10
