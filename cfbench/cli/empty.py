"""Options without a value: a variable of a script that is not set must not be taken for an option that was left out."""

from __future__ import annotations

from collections.abc import Sequence

import click


def refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse blank text among a command's arguments; no command gives it a meaning.

    Parameters
    ----------
    arguments : sequence of str
        The command's name and what follows it.

    Raises
    ------
    UsageError
    """
    for before, text in zip(("", *arguments), arguments, strict=False):
        option, equals, value = text.partition("=")
        if text.strip() and not (text.startswith("--") and equals and not value.strip()):
            continue
        name = option if equals else before
        what = f"{name} has an empty value" if name.startswith("-") else "an argument is empty"
        raise click.UsageError(f"{what}; give it one, or leave it out")
