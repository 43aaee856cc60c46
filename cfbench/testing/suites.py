"""Conformance checks of presets and of reports: the study that a preset makes, and what a report renders."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from cfbench.analysis.reports import RenderedReport, ReportContext
from cfbench.errors import CfbenchError
from cfbench.record.store import Record
from cfbench.registry.entries import PresetEntry, ReportEntry
from cfbench.registry.registry import Registry, build_registry
from cfbench.running.fitted import FittedModels
from cfbench.study.plan import make_plan
from cfbench.study.presets import study_of
from cfbench.study.sources import data_source
from cfbench.study.study import Study
from cfbench.study.variants import parse_variant
from cfbench.testing.check import Check, Failed, NotApplicable, Report, guarded_call, report_of


@dataclass(frozen=True)
class PresetBench:
    """A preset and what is registered."""

    entry: PresetEntry
    registry: Registry

    def study(self) -> Study:
        """Return the preset's study; not applicable if it makes none, for which there is a check."""
        try:
            return study_of(self.entry, self.registry)
        except CfbenchError:
            raise NotApplicable("it makes no study") from None


def is_a_study(bench: PresetBench) -> None:
    """The preset makes a study, in which something of each list is registered.

    To fix: the message names what is wrong with which key.
    """
    try:
        study_of(bench.entry, bench.registry)
    except CfbenchError as error:
        raise Failed(str(error)) from error


def plans_cells(bench: PresetBench) -> None:
    """A plan of the preset has cells, and at least one of them is searched.

    To fix: the message says why all cells are skipped, or what is wrong with the study.
    """
    study = bench.study()
    try:
        plan = make_plan(study, bench.registry, data_source((), download=False))
    except CfbenchError as error:
        raise Failed(str(error)) from error
    if all(cell.skipped for cell in plan.cells):
        raise Failed(plan.cells[0].skipped if plan.cells else "its plan has no cells")


def reference_is_searched(bench: PresetBench) -> None:
    """The reference is one of the preset's searchers, so that its results can be compared with.

    To fix: add the searcher to the study's list, or name another reference.
    """
    if not bench.entry.reference:
        raise NotApplicable("it names no reference")
    searchers = {parse_variant(text)[0] for text in bench.study().searchers}
    if parse_variant(bench.entry.reference)[0] not in searchers:
        raise Failed(f"{bench.entry.reference} is not among its searchers: {', '.join(sorted(searchers))}")


PRESET_CHECKS: tuple[Check[PresetEntry, PresetBench], ...] = (
    Check(is_a_study),
    Check(plans_cells),
    Check(reference_is_searched),
)


def check_preset(entry: PresetEntry, *, registry: Registry | None = None) -> Report:
    """Run all conformance checks of a preset.

    Parameters
    ----------
    entry : PresetEntry
    registry : Registry, optional
        What its names stand for; by default everything that is installed.
    """
    return report_of(PRESET_CHECKS, PresetBench(entry, registry or build_registry()), entry)


@dataclass(frozen=True)
class ReportBench:
    """A report and what is registered."""

    entry: ReportEntry
    registry: Registry


def takes_an_empty_record(bench: ReportBench) -> None:
    """A record without any cell is rendered, or refused with a CfbenchError.

    To fix: raise cfbench.CfbenchError with a message that says what the record is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "cache").mkdir(mode=0o700)
        with Record.open(path / "results", write=True):
            pass
        with Record.open(path / "results") as record:
            models = FittedModels(path / "cache")
            context = ReportContext(record, bench.registry, data_source((), download=False), models)
            try:
                rendered: object = bench.entry.render(context)
            except CfbenchError:
                return
            except Exception as error:
                raise Failed(f"render raised {type(error).__name__}: {error}") from error
        if not isinstance(rendered, RenderedReport):
            raise Failed(f"render returned {type(rendered).__name__}, not a cfbench.analysis.RenderedReport")


def says_the_first_steps(bench: ReportBench) -> None:
    """`first_steps` returns a text that names the record's directory.

    To fix: write the commands with the directory and the command's name that the function receives.
    """
    first_steps = bench.entry.first_steps
    if first_steps is None:
        raise NotApplicable("it has no first_steps")
    steps: object = guarded_call(lambda: first_steps(Path("my-results"), "cfbench"), "first_steps")
    if not isinstance(steps, str) or "my-results" not in steps:
        raise Failed(f"first_steps returned {steps!r:.80}")


REPORT_CHECKS: tuple[Check[ReportEntry, ReportBench], ...] = (
    Check(takes_an_empty_record),
    Check(says_the_first_steps),
)


def check_report(entry: ReportEntry, *, registry: Registry | None = None) -> Report:
    """Run all conformance checks of a report.

    Parameters
    ----------
    entry : ReportEntry
    registry : Registry, optional
        What it finds registered; by default everything that is installed.
    """
    return report_of(REPORT_CHECKS, ReportBench(entry, registry or build_registry()), entry)
