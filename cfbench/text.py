"""Text for people: counts with their nouns, and names from plugins and records made harmless for each output."""

from __future__ import annotations

import re


def plural(number: int, what: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> plural(1, "cell"), plural(2000, "cell"), plural(2, "search"), plural(3, "class")
    ('1 cell', '2,000 cells', '2 searches', '3 classes')
    """
    ending = "es" if what.endswith(("ch", "ss")) else "s"
    return f"{number:,} {what}{'' if number == 1 else ending}"


def distinct_texts(*values: float) -> tuple[str, ...]:
    """Write numbers with six digits, or with as many as distinguish them.

    Whole digits are never rounded away below 1e15. From 10,000 on, thousands are separated.

    Examples
    --------
    >>> distinct_texts(1_234_900, 1_235_001), distinct_texts(0.1, 0.10000000001), distinct_texts(6.5406713)
    (('1,234,900', '1,235,001'), ('0.1', '0.10000000001'), ('6.54067',))
    """
    distinct = set(values)
    for digits in range(6, 18):
        texts = tuple(_with_digits(value, digits) for value in values)
        if len(set(texts)) == len(distinct):
            break
    return texts


def _with_digits(value: float, digits: int) -> str:
    size = abs(value)
    if 10_000 <= size < 1e15:
        return f"{value:,.{max(digits, len(str(int(size))))}g}"
    return f"{value:.{digits}g}"


def exact(value: float) -> str:
    """Write a number with as few digits as give the same number again.

    Examples
    --------
    >>> exact(18.0), exact(0.1), exact(1_000_000_000_000_001.0)
    ('18', '0.1', '1000000000000001')
    """
    if abs(value) < 1e16 and float(value).is_integer():
        return str(int(value))
    text = f"{value:.15g}"
    return text if float(text) == value else f"{value:.17g}"


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell starts with that spreadsheets take for a formula."""


def visible(text: str) -> str:
    """Return `text` on one line without control characters, which could move a terminal's cursor or hide text."""
    if text.isprintable():
        return text
    hidden = "\N{REPLACEMENT CHARACTER}"
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else hidden for sign in text)


def markdown_cell(text: str) -> str:
    """Return `text` for a cell of a markdown table: nothing in it ends the cell, links or becomes HTML."""
    return re.sub(r"([\\|`*<]|\](?=\())", r"\\\1", visible(text))


def spreadsheet_cell(value: object) -> object:
    """Return `value` for a CSV cell: text that would be a formula gets an apostrophe in front, numbers stay."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "±": r"$\pm$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "\N{REPLACEMENT CHARACTER}": "?",
        **{sign: "\\" + sign for sign in "&%$#_{}"},
    }
)


def latex_cell(text: str) -> str:
    """Return `text` for LaTeX: nothing in it is a command, ends a cell or starts a comment."""
    return visible(text).translate(_LATEX)
