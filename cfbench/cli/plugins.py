"""``cfbench plugins``: everything that is registered, and what could not be registered, with the reason."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import Sources, plugin_options, shown_lines

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry


@click.command("plugins", short_help="List everything that is registered, and what failed to load.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--check", is_flag=True, help="Exit with 1 if anything could not be registered.")
@plugin_options
def command(as_json: bool, check: bool, sources: Sources) -> None:
    """List everything that is registered, and what failed to load.

    For each kind: name, distribution and summary; for searchers also what they handle and need. Entries that could
    not be registered follow, with the reason.
    """
    from cfbench.registry.registry import RegistryOptions, build_registry

    with contextlib.redirect_stdout(sys.stderr):  # what a plugin prints on import must not get into the document
        registry = build_registry(RegistryOptions(plugins=tuple(sources.plugins), strict=sources.strict))
    listing = listing_of(registry)
    if as_json:
        click.echo(json.dumps(listing, indent=2))
    else:
        _print(listing)
    if check and registry.problems:
        sys.exit(1)


def listing_of(registry: Registry) -> dict[str, list[dict[str, Any]]]:
    """Return everything that is registered, and the problems, as JSON-like content."""
    listing = {
        kind: [
            {
                "name": name,
                "version": registered.entry.version,
                "summary": registered.entry.summary,
                "plugin": registered.plugin,
                "distribution": registered.distribution,
                "distribution_version": registered.distribution_version,
                **_declarations(kind, registered.entry),
            }
            for name, registered in sorted(entries.items())
        ]
        for kind, entries in registry.kinds.items()
    }
    listing["reporters"] = [
        {
            "name": name,
            "summary": (inspect.getdoc(reporter.plugin) or "").partition("\n")[0],
            "plugin": name,
            "distribution": reporter.candidate.distribution,
            "distribution_version": reporter.candidate.version,
        }
        for name, reporter in sorted(registry.reporter_plugins.items())
    ]
    listing["problems"] = [
        {
            "plugin": problem.plugin,
            "distribution": problem.distribution,
            "distribution_version": problem.version,
            "reason": problem.reason,
        }
        for problem in registry.problems
    ]
    return listing


def _declarations(kind: str, entry: Any) -> dict[str, Any]:
    """Return what an entry of `kind` declares in addition to its name."""
    if kind == "datasets":
        return {"folder": str(entry.folder) if entry.folder else None}
    if kind == "models":
        return {"shows": sorted(entry.shows), "unavailable": entry.unavailable}
    if kind == "searchers":
        return {
            "handles": sorted(entry.handles),
            "needs": sorted(entry.needs),
            "can_use": sorted(entry.can_use),
            "returns_sets": entry.returns_sets,
            "white_box": entry.is_white_box,
            "default_budget": entry.default_budget,
            "cost": entry.cost.value,
            "unavailable": entry.unavailable,
        }
    if kind == "metrics":
        return {
            "stage": entry.stage.value,
            "direction": entry.direction.value,
            "unit": entry.unit,
            "denominator": entry.denominator,
        }
    if kind == "presets":
        return {"reference": entry.reference, "is_starting_point": entry.is_starting_point}
    return {}


def _print(listing: Mapping[str, list[dict[str, Any]]]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for kind in listing:
        if kind == "problems":
            continue
        console.print("Data sets" if kind == "datasets" else kind.capitalize(), style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        for one in listing[kind]:
            about = Text(shown_lines("\n".join(filter(None, [one["summary"], *_details(kind, one)]))))
            version = f"version {one['version']}, " if "version" in one else ""
            about.append(shown_lines(f"\n{version}{_origin(one)}"), style="dim")
            table.add_row(Text(one["name"]), about)
        console.print(Padding(table if listing[kind] else "none", (0, 0, 1, 2)))
    if not listing["problems"]:
        console.print("Everything that was found is registered.")
        return
    console.print(f"Not registered ({len(listing['problems'])})", style="bold red")
    for problem in listing["problems"]:
        said = shown_lines(f"{problem['plugin']} ({_origin(problem)}): {problem['reason']}")
        console.print(Padding(Text(said), (0, 0, 0, 2)))


def _origin(one: Mapping[str, Any]) -> str:
    """Return an entry's origin: the distribution with its version, or the file or module that the user named."""
    if one["distribution"]:
        return f"{one['distribution']} {one['distribution_version']}"
    return str(one["plugin"])


def _details(kind: str, one: Mapping[str, Any]) -> list[str]:
    """Describe an entry's declarations in a line or two."""
    if kind == "datasets":
        return [f"folder: {one['folder']}"] if one["folder"] else []
    if kind == "metrics":
        better = "" if one["direction"] == "neutral" else f", {one['direction']} is better"
        unit = f", in {one['unit']}" if one["unit"] else ""
        over = f", over {one['denominator']}" if one["denominator"] else ""
        return [f"{one['stage']} metric{better}{unit}{over}"]
    if kind == "presets":
        said = [f"compares with {one['reference']}"] if one["reference"] else []
        said += ["what `cfbench run` takes by default"] if one["is_starting_point"] else []
        return ["; ".join(said)]
    unavailable = f"unavailable: {one['unavailable']}" if one.get("unavailable") else ""
    if kind == "models":
        return [f"shows: {', '.join(one['shows'])}" if one["shows"] else "", unavailable]
    if kind != "searchers":
        return []
    lines = [
        f"{field.replace('_', ' ')}: {', '.join(one[field]) or 'nothing'}"
        for field in ("handles", "needs", "can_use")
        if one[field] or field == "handles"
    ]
    lines += ["white-box"] if one["white_box"] else []
    lines += ["returns sets"] if one["returns_sets"] else []
    lines += ["slow"] if one["cost"] == "slow" else []
    lines += [f"default budget: {one['default_budget']} queries"] if one["default_budget"] else []
    return ["; ".join(lines), unavailable]
