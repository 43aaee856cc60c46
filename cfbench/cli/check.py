"""``cfbench check``: the conformance checks of what a plugin brings."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import open_registry, plugin_option

if TYPE_CHECKING:
    from cfbench.entries import SearcherEntry
    from cfbench.registry import Registry
    from cfbench.testing import Report

STYLES = {"passed": "green", "failed": "bold red", "not applicable": "dim", "known failure": "yellow"}


@click.command("check", short_help="Check that searchers keep their contract.")
@click.argument("target", metavar="NAME|DISTRIBUTION|MODULE:OBJECT")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that one search may take.",
)
@plugin_option
def command(*, target: str, as_json: bool, time_limit: float, plugins: tuple[str, ...]) -> None:
    """Check that searchers keep their contract.

    The target is a registered searcher, a distribution (all its searchers), or a SearcherEntry in a module. Exits with
    1 if a check failed.
    """
    from cfbench.testing import check_searcher

    registry = open_registry(plugins)
    entries = find_entries(target, registry)
    reports = []
    for entry in entries:
        if len(entries) > 1 and entry.unavailable:
            click.echo(f"{entry.name} cannot run here: {entry.unavailable}", err=True)
            continue
        if not as_json:
            click.echo(f"Checking {entry.name} ...", err=True)
        report = check_searcher(entry, time_limit=time_limit)
        reports.append(report)
        if not as_json:
            _print(report)
    if as_json:
        click.echo(json.dumps([_content(report) for report in reports], indent=2, ensure_ascii=False))
    if not all(report.passed for report in reports):
        sys.exit(1)


def find_entries(target: str, registry: Registry) -> list[SearcherEntry]:
    """Return the searchers that `target` names.

    Raises
    ------
    PluginError
        If it is ``module:object`` and names no searcher's entry.
    UnknownNameError
        If it is the name of nothing that can be checked.
    """
    from cfbench.errors import UnknownNameError

    if ":" in target:
        return [_imported(target)]
    if target in registry.searchers:
        return [registry.searchers[target].entry]
    by_distribution: dict[str, list[SearcherEntry]] = {}
    for registered in registry.searchers.values():
        if registered.distribution:
            by_distribution.setdefault(registered.distribution, []).append(registered.entry)
    if target in by_distribution:
        return by_distribution[target]
    raise UnknownNameError(
        "searcher or distribution", target, [*registry.searchers, *by_distribution], _hint(target, registry)
    )


def _imported(target: str) -> SearcherEntry:
    """Import ``module:object``, from the working directory, too."""
    from cfbench.entries import SearcherEntry
    from cfbench.errors import PluginError
    from cfbench.loading import guarded

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
            entries = [one for one, value in vars(found).items() if isinstance(value, SearcherEntry)]
            there = f"; entries of searchers there: {', '.join(entries)}" if entries else ""
            raise PluginError(f"{target}: there is no {name!r} in {module_name}{there}")
        found = getattr(found, name)
    if not isinstance(found, SearcherEntry):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise PluginError(
            f"{target} is {what}, not a SearcherEntry; put the searcher into one: "
            'SearcherEntry(name="...", searcher=...)'
        )
    return found


def _hint(target: str, registry: Registry) -> str:
    others = {"model": registry.models, "objective": registry.objectives, "metric": registry.metrics}
    for kind, entries in others.items():
        if target in entries:
            return f"There is a {kind} of that name, and there are checks for searchers only."
    return "An entry that is not registered is named by MODULE:OBJECT, a plugin that is not installed by --plugin."


def _print(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cfbench.leaderboard.safe import visible

    table = Table(title=report.entry, title_justify="left", title_style="bold", show_lines=False, pad_edge=False)
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("why")
    table.add_column("how to mend")
    for finding in report.findings:
        failed = finding.result == "failed"
        table.add_row(
            finding.check,
            Text(finding.result, style=STYLES[finding.result]),
            Text(visible(finding.why or finding.guards), style="" if failed else "dim"),
            Text(finding.mend if failed else ""),
        )
    console = Console(highlight=False)
    console.print(table)
    counts = [
        f"{sum(finding.result == result for finding in report.findings)} {result}"
        for result in STYLES
        if any(finding.result == result for finding in report.findings)
    ]
    console.print(f"{report.entry}: {', '.join(counts)}")


def _content(report: Report) -> dict[str, Any]:
    return {
        "kind": "searcher",
        "name": report.entry,
        "passed": report.passed,
        "checks": [
            {
                "check": finding.check,
                "result": finding.result.value,
                "why": finding.why,
                "guards": finding.guards,
                "mend": finding.mend,
            }
            for finding in report.findings
        ],
    }
