"""``cfbench datasets``: the paper's table of data sets, and one data set in full."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfbench.cli.options import Sources, command_name, shown_lines, source_options
from cfbench.study.sources import load_dataset
from cfbench.text import markdown_cell, plural, spreadsheet_cell, visible

if TYPE_CHECKING:
    from cfbench.registry.registry import Registry
    from cfbench.space.dataset import Dataset
    from cfbench.space.space import FeatureSpec

CONSTRAINTS = (">=", "=", "<=")
COLUMNS = ["data set", "n", "d", "d2", "classes", "user", "target", "constraints", "perturbations"]
UNBROKEN = ("data set", "n", "d", "d2", "user", "feature", "kind")
"""Columns of single words and numbers; the others shrink on a narrow terminal."""

PIPE_WIDTH = 10_000
"""Width of output that is not a terminal."""

offline_option = click.option("--offline", is_flag=True, help="Download nothing.")


@click.group("datasets")
def command() -> None:
    """List, show or check data sets, or annotate a table of your own."""


@command.command("list")
@click.option(
    "--format", "form", type=click.Choice(["table", "markdown", "csv", "json"]), default="table", show_default=True
)
@offline_option
@source_options
def list_datasets(*, form: str, offline: bool, sources: Sources) -> None:
    """Show one line per data set, as in the paper's table.

    n rows, d features, d2 of them categorical. Constraints: how many features may only grow (>=), not change (=), only
    shrink (<=). Perturbations: of how many numerical (N) and categorical (C) features.
    """
    from cfbench.errors import CfbenchError

    source = sources.data(download=not offline)
    found: list[dict[str, Any]] = []
    for name, registered in sources.registry().datasets.items():
        try:
            found.append(facts(name, load_dataset(registered.entry, source)))
        except CfbenchError as error:
            found.append({"data set": name, "unavailable": str(error)})
    if form == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif form == "csv":
        click.echo(as_csv(found), nl=False)
    else:
        lines = [as_line(fact) for fact in found]
        if form == "markdown":
            click.echo(as_markdown(COLUMNS, lines))
        else:
            print_table(COLUMNS, lines)
        for fact in found:
            if "unavailable" in fact:
                click.echo(f"\n{fact['data set']}: {shown_lines(fact['unavailable'])}")


@command.command("show")
@click.argument("name", metavar="NAME|FOLDER")
@offline_option
@source_options
def show_dataset(*, name: str, offline: bool, sources: Sources) -> None:
    """Show a data set: its classes, every feature's annotation, and its card.

    Name a folder of your own by its path (./my-folder); it is checked, too.
    """
    from cfbench.registry.discovery import guarded

    registry = sources.registry([Path(name)] if is_path(name) else [])
    entry = registry.dataset(name).entry
    dataset = load_dataset(entry, sources.data(download=not offline))
    click.echo(visible(f"{dataset.name}: {entry.summary}" if entry.summary else dataset.name) + "\n")
    shown = facts(dataset.name, dataset)
    user = visible(dataset.user)
    click.echo(f"{dataset.n} rows, {shown['d']} features, {shown['d2']} of them categorical; user: {user}")
    for code, (label, count) in enumerate(zip(dataset.class_labels, dataset.class_counts, strict=True)):
        target = ", the target" if code == dataset.target else ""
        click.echo(f"class {code}, {visible(label)}: {count} rows ({count / dataset.n:.1%}){target}")
    click.echo()
    print_table(["feature", "kind", "values", "constraint", "perturbation", "description"], feature_lines(dataset))
    for line in relation_lines(dataset):
        click.echo(line)
    card = guarded(entry.card) if entry.card is not None else ""
    click.echo(f"\n{shown_lines(card.strip())}" if card else "\nIt has no card.")


@command.command("check")
@click.argument("name", metavar="NAME|FOLDER")
@offline_option
@source_options
def check_dataset(*, name: str, offline: bool, sources: Sources) -> None:
    """Check a data set, and say what a run would do with it.

    Lists every problem of a folder's files, with the line. Without a problem, it lists rows, classes, relations, folds,
    which models have tuned settings, and the eligible points of fitted models. Nothing is tuned or fitted. Exits with 1
    if the data set cannot be used.
    """
    from cfbench.errors import DataError
    from cfbench.running.fitted import MOST_TUNING_ROWS
    from cfbench.space.dataset import N_FOLDS, split

    registry = sources.registry([Path(name)] if is_path(name) else [])
    dataset = load_dataset(registry.dataset(name).entry, sources.data(download=not offline))
    if dataset.n_classes == 1:
        only = visible(dataset.class_labels[0])
        raise DataError(f"{dataset.name}: {only} is the only class; a search needs another class to start from")
    folds = [split(dataset, fold) for fold in range(N_FOLDS)]
    shown = facts(dataset.name, dataset)
    target = visible(dataset.class_labels[dataset.target])
    click.echo(f"{dataset.name}: {dataset.n} rows, {shown['d']} features, {shown['d2']} of them categorical")
    counts = zip(dataset.class_labels, dataset.class_counts, strict=True)
    click.echo("classes: " + ", ".join(f"{visible(label)} ({count} rows)" for label, count in counts))
    click.echo(f"target: {target}, {dataset.class_counts[dataset.target]} of {dataset.n} rows")
    for line in relation_lines(dataset)[1:]:
        click.echo(line)
    train = ", ".join(dict.fromkeys(str(len(fold.train)) for fold in folds))
    click.echo(f"folds: {N_FOLDS}; models are fitted on {train} rows, and the points come from the others")
    rows = len(folds[0].train)
    if rows > MOST_TUNING_ROWS:
        click.echo(
            f"models are tuned on a sample of {MOST_TUNING_ROWS:,} of the {rows:,} training rows, and fitted on all"
        )
    for line in tuning_lines(registry, dataset):
        click.echo(line)
    click.echo("eligible points are the rows of a test fold that the fitted model does not put into the target class")
    click.echo(f"\nIt can be used: cfbench run --dataset {shlex.quote(name)}")


@command.command("annotate")
@click.argument("table", metavar="TABLE.csv", type=click.Path(path_type=Path))
@click.option("--label", metavar="COLUMN", help="The column that holds the class. By default the last that can be one.")
@click.option("--target", metavar="VALUE", help="The class that users want, as the table has it.")
@click.option("--output", metavar="FOLDER", type=click.Path(path_type=Path), help="By default the table's name.")
@click.option("--ignore", metavar="COLUMN", multiple=True, help="A column that no model may use. May be repeated.")
@click.option("--numerical", metavar="COLUMN", multiple=True, help="A column that holds numbers. May be repeated.")
@click.option("--categorical", metavar="COLUMN", multiple=True, help="A column of categories. May be repeated.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with gaps.")
@click.option("--missing-as", metavar="CATEGORY", help="Give gaps of categorical columns this category.")
def annotate_table(
    *,
    table: Path,
    label: str | None,
    target: str | None,
    output: Path | None,
    ignore: tuple[str, ...],
    numerical: tuple[str, ...],
    categorical: tuple[str, ...],
    drop_missing: bool,
    missing_as: str | None,
) -> None:
    """Write a folder with a first annotation of a table.

    Finds out the delimiter, the encoding, decimal commas and the header, and for each column whether it holds numbers,
    categories, or nothing that a model may use. What the table does not say stands in annotations.toml as a comment
    that begins with "decide:". Dates, texts and gaps are refused, with what to do. Nothing is overwritten.
    """
    from cfbench.errors import DataError
    from cfbench.files import at_home
    from cfbench.tables.annotate import Choices, TableError, annotate_file
    from cfbench.tables.annotation import FILE_NAME
    from cfbench.tables.folder import TABLE_NAME

    kinds = dict.fromkeys(numerical, "numerical") | dict.fromkeys(categorical, "categorical")
    choices = Choices(label or "", target or "", ignore, kinds, drop_missing, missing_as or "", on_command_line=True)
    try:
        made = annotate_file(at_home(table), choices)
    except TableError as error:
        if set(error.ignore) <= set(ignore) and (drop_missing or not error.drop_missing):
            raise
        words = [command_name(), "datasets", "annotate", str(table)]
        for option, value in (("--label", label), ("--target", target), ("--missing-as", missing_as)):
            words += [option, value] if value else []
        words += [f"--output={output}"] if output else []
        for option, names in (("--ignore", error.ignore), ("--numerical", numerical), ("--categorical", categorical)):
            words += [word for name in names for word in (option, name)]
        words += ["--drop-missing"] if drop_missing or error.drop_missing else []
        raise DataError(f"{error}\nTo leave all this out:\n  {shlex.join(words)}") from None
    folder = made.save(at_home(output) if output is not None else Path(made.name))
    place = str(folder) if folder.is_absolute() or folder.parts[:1] == ("..",) else f"./{folder}"
    for note in made.notes:
        click.echo(shown_lines(note))
    click.echo(f"written: {place}/{FILE_NAME} and {place}/{TABLE_NAME}, with {plural(made.dataset.n, 'row')}")
    click.echo(f'{plural(made.questions, "comment")} in {FILE_NAME} ask for a decision; look for "decide:"')
    click.echo(f"\nNext: cfbench datasets check {shlex.quote(place)}")


def tuning_lines(registry: Registry, dataset: Dataset) -> list[str]:
    """Return a line per model: whether its settings for the folds of a data set are known or have to be tuned.

    Where models of the folds are in the cache, the line says how many eligible points each leaves.
    """
    import numpy as np

    from cfbench.caches import cache_dir
    from cfbench.running.fitted import N_SPLITS, FittedModels, eligible_points, grid_of, only_choice
    from cfbench.space.dataset import N_FOLDS, split
    from cfbench.study.variants import build_settings, resolve_variant

    fitted, lines = FittedModels(cache_dir()), []
    fewest = min(np.bincount(dataset.y[split(dataset, fold).train]).max() for fold in range(N_FOLDS))
    for name in registry.models:
        variant = resolve_variant(registry, "model", name)
        entry = registry.model(name).entry
        family = build_settings(entry.family, variant.settings, entry.name)
        grid = grid_of(entry, family)
        unknown = [fold for fold in range(N_FOLDS) if fitted.known(dataset, fold, entry, family) is None]
        if only_choice(grid) is not None:
            known = "nothing to tune"
        elif not unknown:
            known = "tuned settings for all folds are at hand"
        elif fewest < N_SPLITS:
            known = f"cannot be tuned, as no class has {N_SPLITS} training rows; give its settings values"
        else:
            choices = math.prod(len(values) for values in grid.values())
            known = f"a run first tunes it, once per fold: {choices} settings, 5-fold cross-validation each"
        points = {}
        for fold in range(N_FOLDS):
            model = fitted.stored(dataset, fold, entry, family)
            if model is not None:
                points[fold] = len(eligible_points(model, dataset, split(dataset, fold).test))
        counts = ", ".join(f"{count} in fold {fold}" for fold, count in points.items())
        lines.append(f"{name}: {known}" + (f"; eligible points: {counts}" if points else ""))
    return lines


def is_path(name: str) -> bool:
    """Return whether a name is a folder: it has a path separator, or a folder of that name exists."""
    return Path(name).name != name or Path(name).is_dir()


def facts(name: str, dataset: Dataset) -> dict[str, Any]:
    """Return a data set's line of the paper's table."""
    from cfbench.space.space import Kind

    features = dataset.space.features
    perturbed = [feature.kind for feature in features if feature.perturbation is not None]
    return {
        "data set": name,
        "n": dataset.n,
        "d": dataset.space.d,
        "d2": int(dataset.space.is_categorical.sum()),
        "classes": list(dataset.class_labels),
        "user": dataset.user,
        "target": dataset.class_labels[dataset.target],
        "constraints": {sign: sum(feature.constraint == sign for feature in features) for sign in CONSTRAINTS},
        "perturbations": {"N": perturbed.count(Kind.NUMERICAL), "C": perturbed.count(Kind.CATEGORICAL)},
    }


def as_line(fact: dict[str, Any]) -> list[str]:
    """Return one line of the table as text, with dashes for unavailable values."""
    if "unavailable" in fact:
        return [fact["data set"], *("-" for _ in COLUMNS[1:-1]), "unavailable"]
    line = []
    for column in COLUMNS:
        value = fact[column]
        if isinstance(value, dict):
            value = " ".join(f"{kind}:{count}" for kind, count in value.items())
        line.append(", ".join(value) if isinstance(value, list) else str(value))
    return line


def as_csv(found: Sequence[dict[str, Any]]) -> str:
    """Return the table with one number per column."""
    flat = []
    for fact in found:
        counts = {f"{key} {kind}": count for key in COLUMNS[-2:] for kind, count in fact.get(key, {}).items()}
        flat.append({**fact, "classes": "; ".join(fact.get("classes", [])), **counts})
    kinds = [*(f"constraints {sign}" for sign in CONSTRAINTS), "perturbations N", "perturbations C"]
    names = [*COLUMNS[:-2], *kinds, "unavailable"]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: spreadsheet_cell(value) for name, value in fact.items()} for fact in flat)
    return text.getvalue()


def as_markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(markdown_cell(cell) for cell in row) + " |" for row in rows)


def print_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print aligned columns: fitted to a terminal, or unwrapped into a pipe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        table.add_column(name, no_wrap=name in UNBROKEN, min_width=min(len(name), 8))
    for line in lines:
        table.add_row(*(Text(visible(cell)) for cell in line))
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def feature_lines(dataset: Dataset) -> list[list[str]]:
    """Return every feature's annotation as text."""
    lines = []
    for feature in dataset.space.features:
        values = ", ".join(feature.categories) or f"[{feature.lower:g}, {feature.upper:g}]"
        values += f" {feature.unit}" if feature.unit else ""
        values += f", multiples of {feature.step:g}" if feature.step else ""
        kind, constraint = feature.kind.value, feature.constraint.value
        lines.append([feature.name, kind, values, constraint, perturbation_of(feature), feature.description])
    return lines


def relation_lines(dataset: Dataset) -> list[str]:
    """Return every relation as text, with the number of rows that break it."""
    import numpy as np

    from cfbench.space.dataset import broken_relations

    broken = broken_relations(dataset.space, dataset.X)
    lines = ["", "Relations:"] if dataset.space.relations else []
    for relation in dataset.space.relations:
        rows = broken.get(relation, np.empty(0, dtype=np.int64))
        note = f" (broken by {len(rows)} of {dataset.n} rows, the first is row {rows[0] + 1})" if len(rows) else ""
        lines.append(f"- {visible(relation.text)}{note}")
    return lines


def perturbation_of(feature: FeatureSpec) -> str:
    """Describe how far a perturbation may move a feature."""
    from cfbench.space.space import CategoricalPerturbation

    moved = feature.perturbation
    if moved is None:
        return "none"
    if isinstance(moved, CategoricalPerturbation):
        reachable = [feature.categories[code] for code in moved.codes]
        return "any category" if len(reachable) == feature.n_categories else f"to {', '.join(reachable)}"
    factor, unit = (100, "%") if moved.relative else (1, "")
    # `or 0`: no minus before a zero.
    span = f"{-factor * moved.decrease or 0:g}{unit} to {factor * moved.increase:+g}{unit}"
    return f"{span} of the value" if moved.relative else span
