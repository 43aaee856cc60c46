"""``cfbench check``: the conformance checks of a plugin's entries."""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import Sources, source_options, trust_options
from cfbench.errors import PluginError, UnknownNameError
from cfbench.registry.discovery import guarded
from cfbench.registry.entries import (
    DatasetEntry,
    Entry,
    MetricEntry,
    ModelEntry,
    ObjectiveEntry,
    PresetEntry,
    ReportEntry,
    SearcherEntry,
)
from cfbench.registry.own_models import is_reference
from cfbench.study.sources import folders_among
from cfbench.text import visible

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry
    from cfbench.testing import Report

KINDS: dict[type[Entry], str] = {
    SearcherEntry: "searcher",
    ModelEntry: "model",
    ObjectiveEntry: "objective",
    MetricEntry: "metric",
    DatasetEntry: "dataset",
    PresetEntry: "preset",
    ReportEntry: "report",
}
"""The kinds of entry that have checks."""

MARGIN = 16
"""Width of a result; the longest is "not applicable"."""

NARROWEST = 24
"""Minimum width of the text next to a result."""

STYLES = {"passed": "green", "failed": "bold red", "not applicable": "dim", "known failure": "yellow"}


@click.command("check", short_help="Check that registered entries keep their contracts.")
@click.argument("target", metavar="NAME|DISTRIBUTION|MODULE:OBJECT")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that one search of a searcher may take.",
)
@click.option("--dataset", metavar="NAME|./FOLDER", help="The data set that a model of your own is for.")
@trust_options
@source_options
def command(*, target: str, as_json: bool, time_limit: float, dataset: str | None, sources: Sources) -> None:
    """Check that registered entries keep their contracts.

    The target is a registered name, a distribution (all its entries), or an entry in a module. Exits with 1 if a
    check failed.

    A model of your own (FILE.py:NAME, FILE.skops, FILE.joblib, http://HOST:PORT/PATH) is tried on the data set of
    --dataset: how it takes rows, what its classes are, and how fast it can be queried.
    """
    registry = sources.registry(folders_among([dataset] if dataset else []), [target])
    if is_reference(target):
        own = registry.model(target).entry
        if own.fitted is not None:
            _tell_of_own_model(own, dataset, registry, sources, as_json=as_json)
            return
        entries: list[Entry] = [own]
    else:
        entries = find_entries(target, registry)
    reports = []
    for entry in entries:
        if len(entries) > 1 and isinstance(entry, SearcherEntry | ModelEntry) and entry.unavailable:
            click.echo(f"{entry.name} cannot run here: {entry.unavailable}", err=True)
            continue
        if not as_json:
            click.echo(f"Checking the {KINDS[type(entry)].replace('dataset', 'data set')} {entry.name} ...", err=True)
        report = run_checks(entry, registry, time_limit)
        reports.append((KINDS[type(entry)], report))
        if not as_json:
            _print(report)
    if as_json:
        click.echo(json.dumps([_content(kind, report) for kind, report in reports], indent=2, ensure_ascii=False))
    if not all(report.passed for _, report in reports):
        sys.exit(1)


def _tell_of_own_model(
    entry: ModelEntry, dataset: str | None, registry: Registry, sources: Sources, *, as_json: bool
) -> None:
    """Print what cfbench finds in a model that was fitted elsewhere; raise CfbenchError if it cannot be used."""
    if dataset is None:
        raise click.UsageError("name the data set that the model is for with --dataset")
    from cfbench.cli.options import aligned
    from cfbench.models.own_model import findings, of_dataset
    from cfbench.space.dataset import split
    from cfbench.study.sources import load_dataset

    data = load_dataset(registry.dataset(dataset).entry, sources.data())
    train = split(data, 0).train
    found = findings(of_dataset(entry, data, train, registry.families), data, train)
    if as_json:
        click.echo(json.dumps({"kind": "model", "name": entry.name, **found}, indent=2, ensure_ascii=False))
        return
    click.echo(f"{entry.origin}, as {entry.name} on {data.name}")
    click.echo("\n".join(aligned([(name, visible(text)) for name, text in found.items()], left=2)))


def run_checks(entry: Entry, registry: Registry, time_limit: float) -> Report:
    """Run the checks of an entry's kind."""
    import cfbench.testing

    options: dict[str, Any] = {}
    if isinstance(entry, SearcherEntry):
        options["time_limit"] = time_limit
    elif isinstance(entry, (PresetEntry, ReportEntry)):
        options["registry"] = registry
    report: Report = getattr(cfbench.testing, f"check_{KINDS[type(entry)]}")(entry, **options)
    return report


def find_entries(target: str, registry: Registry) -> list[Entry]:
    """Return the entries that `target` names: ``module:object``, an entry's name, or a distribution.

    Raises PluginError if there is no such object, or it is not an entry that can be checked, or a plugin that the user
    named has failed. Raises UnknownNameError if no entry or distribution of that name can be checked.
    """
    if ":" in target:
        return [_imported(target)]
    registered = [one for kind in KINDS.values() for one in registry.kinds[f"{kind}s"].values()]
    by_name: list[Entry] = [one.entry for one in registered if one.entry.name == target]
    found = by_name or [one.entry for one in registered if one.distribution == target]
    if not found:
        broken = [problem for problem in registry.problems if problem.plugin in registry.options.plugins]
        if broken:
            raise PluginError(f"{target!r} is not registered: {broken[0]}")
        known = {one.entry.name for one in registered} | {one.distribution for one in registered}
        hint = "Name an entry that is not registered by MODULE:OBJECT, and a plugin that is not installed by --plugin."
        if registry.problems:
            hint = f"Not everything could be registered: {registry.problems[0]}"
        raise UnknownNameError(f"{', '.join(KINDS.values())} or distribution", target, known - {""}, hint)
    return found


def _imported(target: str) -> Entry:
    """Import ``module:object``, also from the working directory."""
    module_name, _, path = target.partition(":")
    here = str(Path.cwd())  # in full: child processes know no working directory by ""
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = guarded(lambda: importlib.import_module(module_name))
    except PluginError as error:
        raise PluginError(f"{module_name} cannot be imported: {error}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            entries = [one for one, value in vars(found).items() if isinstance(value, tuple(KINDS))]
            there = f"; entries there: {', '.join(entries)}" if entries else ""
            raise PluginError(f"{target}: there is no {name!r} in {module_name}{there}")
        found = getattr(found, name)
    if not isinstance(found, Entry) or type(found) not in KINDS:
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise PluginError(
            f"{target} is {what}, not an entry; put it into an entry, for example: "
            'SearcherEntry(name="...", searcher=...)'
        )
    return found


def _print(report: Report) -> None:
    """Print one paragraph per check: its result, what it found or guards, and how to fix a failure.

    Checks that do not apply because the first one failed are only counted.
    """
    from rich.console import Console
    from rich.text import Text

    from cfbench.testing.check import blocked_by

    console = Console(highlight=False)
    console.print(Text(report.entry, style="bold"))
    blocked = {blocked_by(failure.check) for failure in report.failures}
    for finding in report.findings:
        if finding.why in blocked:
            continue
        failed = finding.result == "failed"
        said = _paragraph(f"{finding.check}: {finding.why or finding.guards}", console.width)
        result = Text(f"{finding.result:<{MARGIN}}", style=STYLES[finding.result])
        console.print(result + Text(said[0], style="" if failed else "dim"))
        fix = _paragraph(f"To fix: {finding.fix}", console.width) if failed and finding.fix else []
        for line in (*said[1:], *fix):
            console.print(Text(" " * MARGIN + line, style="" if failed else "dim"))
    counts = [
        f"{sum(finding.result == result for finding in report.findings)} {result}"
        for result in STYLES
        if any(finding.result == result for finding in report.findings)
    ]
    console.print(f"{report.entry}: {', '.join(counts)}")


def _paragraph(text: str, width: int) -> list[str]:
    """Break a text into the lines next to a result."""
    return textwrap.wrap(visible(text), max(width - MARGIN, NARROWEST), break_on_hyphens=False)


def _content(kind: str, report: Report) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": report.entry,
        "passed": report.passed,
        "checks": [dataclasses.asdict(finding) for finding in report.findings],
    }
