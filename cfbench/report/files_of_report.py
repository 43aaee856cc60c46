"""The comparison as files: a page, and every table and figure by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cfbench.errors import CfbenchError
from cfbench.harness.store.disk import write_atomically
from cfbench.harness.store.layout import refuse_inside_record
from cfbench.report.canvas import Figure
from cfbench.report.page import render_page
from cfbench.report.paper_report import Report

PAGE = "paper.html"
TABLES, FIGURES = "tables", "figures"


def write_report(report: Report, output: Path) -> list[Path]:
    """Write the page, tables and figures, replacing those of an earlier report.

    Returns
    -------
    list of Path
        The files, the page first.

    Raises
    ------
    CfbenchError
        If the folder cannot be written.
    """
    written = []
    for name, content in _contents(report):
        path = output / name
        try:
            write_atomically(path, content)
        except OSError as error:
            raise CfbenchError(
                f"{path} cannot be written: {error.strerror or error}; name a folder that you may write to with "
                "--output"
            ) from error
        written.append(path)
    return written


def check_output(output: Path) -> None:
    """Refuse a folder that cannot be written, before work is done for it; nothing is made yet.

    Raises
    ------
    CfbenchError
        If it is a file, lies where it cannot be made, or is or lies in a record.
    """
    for name in (PAGE, f"{TABLES}/any", f"{FIGURES}/any"):
        refuse_inside_record(output / name)
    nearest = output
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        why = f"{nearest} is a file"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        why = f"you may not write to {nearest}"
    else:
        return
    raise CfbenchError(f"{output} cannot be written: {why}; name a folder that you may write to with --output")


def _contents(report: Report) -> Iterator[tuple[str, bytes]]:
    yield PAGE, render_page(report).encode()
    for section in report.sections:
        for item in section.items:
            if isinstance(item, Figure):
                yield f"{FIGURES}/{item.name}.svg", item.svg.encode()
                yield f"{FIGURES}/{item.name}.png", item.png
                yield f"{FIGURES}/{item.name}.csv", item.numbers.csv().encode()
            else:
                yield f"{TABLES}/{item.name}.md", item.markdown().encode()
                yield f"{TABLES}/{item.name}.csv", item.csv().encode()
