"""The leaderboard of a record as an object: text in a terminal, a table in a notebook, a data frame for more."""

from __future__ import annotations

import html
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.analysis.board import Board, make_board
from cfbench.analysis.cautions import spans
from cfbench.analysis.selection import Selection
from cfbench.errors import RecordError
from cfbench.harness.store.record import Record
from cfbench.leaderboard.columns import ABSENT, columns_for, headline, table_of
from cfbench.leaderboard.markdown import render_markdown
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.tabular import flat
from cfbench.leaderboard.terminal import render_text
from cfbench.registry import RegistryOptions, build_registry

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_REFERENCE = "cogs"


@dataclass(frozen=True)
class Leaderboard:
    """A record's leaderboard. ``print`` it, let a notebook show it, or compute with :meth:`to_frame`.

    Parameters
    ----------
    board : Board
        The numbers.
    record : str
        What the record is called in the headline.
    """

    board: Board
    record: str

    def to_frame(self) -> pd.DataFrame:
        """Return every number, unrounded: a row for each task and searcher, the columns of ``--format csv``."""
        import pandas as pd

        return pd.DataFrame([flat(row, self.board.reference) for row in self.board.rows])

    def __str__(self) -> str:
        return render_text(self.board, self.record).rstrip("\n")

    def _repr_markdown_(self) -> str:
        return render_markdown(self.board, self.record)

    def _repr_html_(self) -> str:
        columns = columns_for(self.board)
        titles = [f"{column.title} ({column.unit})" if column.unit else column.title for column in columns]
        lines = [f"<p><b>{_escaped(headline(self.board, self.record))}</b></p>"]
        for task, rows in self.board.by_task().items():
            folds = spans(tuple(sorted({fold for row in rows for fold in row.folds}))) or ABSENT
            lines.append(f"<table><caption>{_escaped(f'{task}, folds {folds}')}</caption>")
            lines.append(_line(titles, "th"))
            lines += [_line(cells, "td") for cells in table_of(rows, columns)]
            lines.append("</table>")
        explained = [f"<li>{_escaped(f'{one.title}: {one.legend}')}</li>" for one in columns if one.legend]
        notes = [f"<li>{_escaped(f'Note: {caution}')}</li>" for caution in self.board.cautions]
        return "\n".join([*lines, "<ul>", *explained, *notes, "</ul>"])


def leaderboard(
    results: Path | str = "results",
    *,
    reference: str | None = None,
    datasets: Collection[str] = (),
    models: Collection[str] = (),
    objectives: Collection[str] = (),
    plugins: Collection[str] = (),
) -> Leaderboard:
    """Return the leaderboard of a record, as ``cfbench leaderboard`` shows it; nothing is searched or fitted.

    Parameters
    ----------
    results : path
        The record's directory.
    reference : str, optional
        The searcher whose loss the others are compared with; CoGS, where the record has it.
    datasets, models, objectives : collection of str
        What to show; everything where empty.
    plugins : collection of str
        Modules and paths of .py files to register, for their comparison metrics.

    Returns
    -------
    Leaderboard

    Raises
    ------
    RecordError
        If there is no record, or nothing in it is finished.
    UnknownNameError
        If something asked for is not in the record.
    """
    path = Path(results)
    with Record.open(path) as record:
        summaries = record.summaries()
        unfinished = len(record.pending())
        problems = list(record.problems)
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    if not summaries:
        raise RecordError(f"there is nothing to show in {path}: no cell is finished; cfbench.run finishes some")
    board = make_board(
        summaries.values(),
        build_registry(RegistryOptions(plugins=tuple(plugins))),
        reference or DEFAULT_REFERENCE,
        need_reference=reference is not None,
        selection=Selection(datasets, models, objectives),
        unfinished=unfinished,
    )
    return Leaderboard(board, str(path))


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _line(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in cells) + "</tr>"
