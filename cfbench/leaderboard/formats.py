"""The formats of a leaderboard: one function each, from the same numbers, loaded when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.errors import UnknownNameError

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard

FORMATS = ("table", "markdown", "csv", "json", "latex", "html")
"""A further format is a name here and a case in `render`."""


def render(shown: Leaderboard, form: str) -> str:
    """Return a leaderboard as text.

    Raises
    ------
    UnknownNameError
        If `form` is none of `FORMATS`.
    """
    match form:
        case "table":
            return f"{shown}\n"
        case "markdown":
            from cfbench.leaderboard.markdown import render_markdown

            return render_markdown(shown)
        case "csv":
            from cfbench.leaderboard.tabular import render_csv

            return render_csv(shown)
        case "json":
            from cfbench.leaderboard.tabular import render_json

            return render_json(shown)
        case "latex":
            from cfbench.leaderboard.latex import render_latex

            return render_latex(shown)
        case "html":
            from cfbench.leaderboard.page.file import page_of

            return page_of(shown)
    raise UnknownNameError("format", form, FORMATS)
