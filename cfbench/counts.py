"""Numbers of things, in words."""

from __future__ import annotations


def plural(number: int, what: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> plural(1, "cell"), plural(2000, "cell"), plural(2, "search")
    ('1 cell', '2,000 cells', '2 searches')
    """
    ending = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{'' if number == 1 else ending}"
