"""Fill the tables of docs/models.md from the registered families and their tuned settings.

``python docs/pictures/models.py`` writes them. With the record of the preset `models`, as in
``python docs/pictures/models.py results``, it also writes the table of gaps. A data set whose table is unavailable is
left out.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from findings import filled
from published import searched_cells_and_gaps

from cfbench import Dataset
from cfbench.errors import UnavailableError
from cfbench.registry.registry import build_registry
from cfbench.running.fitted import TunedRow, read_table
from cfbench.space.dataset import N_FOLDS, split
from cfbench.study.sources import data_source
from cfbench_models.plugin import TUNED

PAGE = Path(__file__).parents[1] / "models.md"
DATASETS = ("credit", "housing", "income", "productivity", "recidivism", "wine")


def family_table() -> str:
    """Return the families as a table, one row per family: what it is, its grid, and what it shows."""
    lines = ["| family | grid | shows |", "| --- | --- | --- |"]
    for name, found in build_registry().models.items():
        grid = found.entry.family().grid()
        choices = "; ".join(f"`{setting}`: {', '.join(map(str, values))}" for setting, values in grid.items())
        shows = ", ".join(sorted(need.value.removeprefix("the model's ") for need in found.entry.shows))
        lines.append(f"| `{name}` | {choices} | {shows} |")
    return "\n".join(lines)


def accuracy_table() -> str:
    """Return the accuracies on the test folds as a table, one row per family and one column per data set."""
    models, tuned = build_registry().models, list(read_table(TUNED).values())
    datasets = [one for one in map(_loaded, DATASETS) if one is not None]
    head = f"| family | {' | '.join(dataset.name for dataset in datasets)} |"
    lines = [head, "| --- |" + " ---: |" * len(datasets)]
    lines.append(_row("most common class", [_of_most_common(dataset) for dataset in datasets]))
    lines += [_row(f"`{name}`", [_of_family(tuned, name, dataset.name) for dataset in datasets]) for name in models]
    return "\n".join(lines)


def _row(label: str, accuracies: list[list[float]]) -> str:
    """Return a line: in percent the mean over the folds, the least and the largest; - where a fold is not tuned."""
    cells = [
        f"{100 * np.mean(one):.1f} ({100 * min(one):.0f} to {100 * max(one):.0f})" if len(one) == N_FOLDS else "-"
        for one in accuracies
    ]
    return f"| {label} | {' | '.join(cells)} |"


def _of_family(tuned: list[TunedRow], model: str, dataset: str) -> list[float]:
    return [row.test_accuracy for row in tuned if (row.model, row.dataset) == (model, dataset)]


def _of_most_common(dataset: Dataset) -> list[float]:
    """Return the accuracies of the class that is most common in the training fold, one per fold."""
    folds = [split(dataset, fold) for fold in range(N_FOLDS)]
    guesses = [np.bincount(dataset.y[rows.train]).argmax() for rows in folds]
    return [float(np.mean(dataset.y[rows.test] == guess)) for rows, guess in zip(folds, guesses, strict=True)]


def gap_table(path: Path) -> str:
    """Return one row per searcher: on each family the share of points that it found, and the mean gap of these."""
    registry = build_registry()
    cells, gaps = searched_cells_and_gaps(path)
    mean = gaps.groupby(["searcher", "model"])["value"].mean()
    points: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        points[cell.info.searcher, cell.info.model] += len(cell.tries)
        found[cell.info.searcher, cell.info.model] += sum(wins > 0 for wins in cell.successes)
    models = [name for name in registry.models if any(model == name for _, model in points)]
    searchers = [name for name in registry.searchers if any(name == one for one, _ in points) and "exact" not in name]
    lines = [f"| searcher | {' | '.join(models)} |", "| --- |" + " ---: |" * len(models)]
    for name in searchers:
        texts = [
            f"{found[name, model] / points[name, model]:.0%}, {mean.get((name, model), np.nan):.1%}".replace("%", " %")
            if points[name, model] == max(points.values())
            else "-"
            for model in models
        ]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _loaded(name: str) -> Dataset | None:
    try:
        return build_registry().dataset(name).entry.load(data_source([], download=False))
    except UnavailableError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None


if __name__ == "__main__":
    blocks = {"families": family_table(), "accuracies": accuracy_table()}
    if sys.argv[1:]:
        blocks["gaps"] = gap_table(Path(sys.argv[1]))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), blocks), encoding="utf-8")
