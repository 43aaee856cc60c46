"""What a command tells on stderr. Sentences carry names and errors of other people's plugins, records and servers."""

from __future__ import annotations

import click


def tell(kind: str, sentence: object) -> None:
    """Write ``kind: sentence`` to stderr, without signs that could move a terminal's cursor or hide something.

    Parameters
    ----------
    kind : str
        "Error", "Warning", "Note" and the like.
    sentence : object
        A text of one line or several, or an error.
    """
    click.echo(f"{kind}: {shown_lines(str(sentence))}", err=True)


def shown_lines(text: str) -> str:
    """Return a text of several lines without signs that could move a terminal's cursor or hide something."""
    from cfbench.leaderboard.safe import visible

    return "\n".join(visible(line) for line in text.split("\n"))
