"""The board for a terminal: styled where somebody looks at it, plain where it is piped. Both are the same lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from cfbench.leaderboard.lines import Line
    from cfbench.leaderboard.shown import Leaderboard

PLAIN_SIGNS = str.maketrans({"±": "+-", "↑": "^", "↓": "v", "\N{REPLACEMENT CHARACTER}": "?"})
"""What stands in for signs that an output's encoding lacks."""


def show(board: Leaderboard, *, stream: TextIO | None = None) -> None:
    """Print a leaderboard, styled where `stream` is a terminal.

    Parameters
    ----------
    board : Leaderboard
    stream : text stream, optional
        Standard output by default.
    """
    stream = stream or sys.stdout
    if not stream.isatty():
        stream.write(_encodable(text_of(board.lines()), stream))
        return
    console = Console(file=stream, highlight=False)
    for line in board.lines(console.width):
        text = Text(_encodable(line.text, stream), style=line.style)
        console.print(text, no_wrap=True, overflow="ignore", crop=False)


def text_of(lines: Iterable[Line]) -> str:
    """Return lines as plain text."""
    return "".join(f"{line.text}\n" for line in lines)


def _encodable(text: str, stream: TextIO) -> str:
    """Return `text` in signs that the stream's encoding has."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN_SIGNS).encode(encoding, "replace").decode(encoding)
    return text
