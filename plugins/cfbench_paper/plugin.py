"""What this package registers: presets, and the report of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cfbench import PresetEntry, ReportEntry, hookimpl
from cfbench_paper.presets import PAPER, REFERENCE, models, quick, standard

if TYPE_CHECKING:
    from cfbench.analysis import RenderedReport, ReportContext


@hookimpl
def cfbench_register_presets() -> Iterable[PresetEntry]:
    """Yield the presets."""
    yield PresetEntry(
        name="quick",
        study=quick,
        reference=REFERENCE,
        is_starting_point=True,
        summary="a first look in minutes: every searcher, three data sets, fold 0, three points",
    )
    yield PresetEntry(
        name="standard",
        study=standard,
        reference=REFERENCE,
        summary="the published leaderboard: every searcher, five data sets, five folds, five points",
    )
    yield PresetEntry(
        name="models",
        study=models,
        reference=REFERENCE,
        summary="the families that the paper does not look at: every searcher, five data sets, fold 0, five points",
    )
    yield PresetEntry(
        name="paper",
        study=PAPER,
        reference=REFERENCE,
        summary="everything as in the paper: five data sets, five folds, all points, five repetitions",
    )


@hookimpl
def cfbench_register_reports() -> Iterable[ReportEntry]:
    """Yield the report."""
    yield ReportEntry(
        name="paper",
        render=_render,
        first_steps=_first_steps,
        summary="every table and figure of the paper next to the paper's numbers, and a verdict on each of its claims",
    )


def _render(context: ReportContext) -> RenderedReport:
    from cfbench_paper.report import render  # loads matplotlib and pandas

    return render(context)


def _first_steps(results: Path, command: str) -> str:
    from cfbench_paper.gaps import first_commands  # loads pandas

    return first_commands(results, command)
