"""The accuracy of the black boxes on each test fold, as it was when their settings were tuned."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, pstdev

from cfbench.dataset import Dataset
from cfbench.harness.fitted import FittedModels
from cfbench.harness.folds import N_FOLDS
from cfbench.harness.tuned import TunedRow
from cfbench.registry import Registry
from cfbench.report.names import DATASETS, MODELS
from cfbench.report.published import block, points_of
from cfbench.report.tables import ABSENT, Entry, Table, TableRow, decimal


class Accuracies:
    """Test accuracies by data set, model and fold.

    Decision: they are read where tuned settings are kept (the model's own table, the user's cache). Nothing is tuned or
    fitted for a report, so a fold that nobody tuned has none.

    Parameters
    ----------
    registry : Registry
    models : FittedModels
        Asked for its table alone.
    datasets : mapping of str to Dataset
    """

    def __init__(self, registry: Registry, models: FittedModels, datasets: Mapping[str, Dataset]) -> None:
        self._rows: dict[tuple[str, str], dict[int, TunedRow]] = {}
        for model in (name for name in MODELS if name in registry.models):
            entry = registry.model(model).entry
            for name, dataset in datasets.items():
                known = ((fold, models.known(dataset, fold, entry, entry.family())) for fold in range(N_FOLDS))
                self._rows[name, model] = {fold: row for fold, row in known if row is not None}

    def of(self, dataset: str, model: str) -> dict[int, float]:
        """Return the accuracies on the folds that have one."""
        return {fold: row.test_accuracy for fold, row in self._rows.get((dataset, model), {}).items()}

    def chosen(self, dataset: str, model: str) -> dict[int, str]:
        """Return the tuned settings of the folds that have some, as people read them."""
        rows = self._rows.get((dataset, model), {})
        return {
            fold: ", ".join(f"{name} {value}" for name, value in row.hyperparameters.items())
            for fold, row in rows.items()
        }

    def over_folds(self, dataset: str, model: str) -> tuple[float | None, float | None]:
        """Return mean and population standard deviation over the folds."""
        values = list(self.of(dataset, model).values())
        return (fmean(values) if values else None), (pstdev(values) if len(values) > 1 else None)


def accuracy_table(model: str, accuracies: Accuracies) -> Table:
    """Return the accuracies of a model, a fold a row, and their mean."""
    paper = block("accuracy", model)
    points = points_of(paper)
    rows = []
    for fold in range(N_FOLDS):
        entries = [_entry(accuracies.of(name, model).get(fold), paper[name][fold], points, "") for name in DATASETS]
        rows.append(TableRow((str(fold),), tuple(entries)))
    means = [
        _entry(
            accuracies.over_folds(name, model)[0],
            paper["mean"][name],
            points,
            f"{len(accuracies.of(name, model))} of {N_FOLDS} folds",
        )
        for name in DATASETS
    ]
    return Table(
        f"accuracy-{model}",
        f"Test accuracy, {MODELS[model]}",
        f"Share of the test fold's rows that the tuned {MODELS[model]} classifies correctly.",
        ("fold",),
        tuple(DATASETS.values()),
        (*rows, TableRow(("mean",), tuple(means))),
        (
            "Ours are kept with the tuned settings, which they were measured with; `cfbench tune` adds what is absent.",
            "The folds are ours: the paper's split of the rows is not published with its numbers, so single folds need "
            "not agree.",
        ),
    )


def tuned_table(model: str, accuracies: Accuracies) -> Table:
    """Return the settings that tuning chose on each fold."""
    rows = [
        TableRow((str(fold),), tuple(Entry(accuracies.chosen(name, model).get(fold, ABSENT)) for name in DATASETS))
        for fold in range(N_FOLDS)
    ]
    return Table(
        f"tuned-{model}",
        f"Tuned settings, {MODELS[model]}",
        "Chosen by five-fold cross-validation on the training fold; the paper does not print its choices.",
        ("fold",),
        tuple(DATASETS.values()),
        tuple(rows),
    )


def _entry(ours: float | None, paper: float, points: tuple[int, ...], n: str) -> Entry:
    return Entry(decimal(ours), n if ours is not None else "", decimal(paper), points, {"accuracy": ours})
