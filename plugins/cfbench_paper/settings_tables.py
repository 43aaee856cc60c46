"""What the experiments were run with: settings of the searchers, accuracy of the models, the data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean, pstdev
from typing import Any

from cfbench import (
    CategoricalPerturbation,
    Constraint,
    Dataset,
    FeatureSpec,
    Kind,
    NumericalPerturbation,
)
from cfbench.analysis import ReportContext
from cfbench.registry import Settings
from cfbench_paper.published import block, points_of, published
from cfbench_paper.tables import (
    ABSENT,
    DATASETS,
    MODELS,
    N_FOLDS,
    SEARCHERS,
    ReportTable,
    TableCell,
    TableRow,
    decimal,
    mean_and_sd,
)

OURS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cogs": {
        "Population size": ("population_size",),
        "Num. generations": ("n_generations",),
        "Tournament size": ("tournament_size",),
        "s_mut": ("mutation_extent",),
    },
    **{
        name: {
            "Total CEs": ("n_counterfactuals",),
            "Max. iterations": ("n_iterations",),
            "Loss weights": ("proximity_weight", "sparsity_weight", "diversity_weight"),
        }
        for name in ("dice-a", "dice-b")
    },
    "growing-spheres": {
        "Num. in layer": ("n_in_layer",),
        "First radius": ("first_radius",),
        "Decrease radius": ("decrease_factor",),
        "Sparse": ("sparse",),
    },
    "lore": {"Population size": ("population_size",), "Num. generations": ("n_generations",)},
    "nelder-mead": {"Max. iterations": ("n_iterations",)},
}
"""What the paper's settings are called here; those without a name here are no settings."""

GRIDS: Mapping[str, Mapping[str, str]] = {
    "random-forest": {
        "No. trees": "n_estimators",
        "Min. samples split": "min_samples_split",
        "Max. features": "max_features",
    },
    "neural-network": {"Learning rate": "learning_rate_init", "Max. iterations": "max_iter", "Solver": "solver"},
}


def searcher_settings(context: ReportContext) -> ReportTable:
    """Return the searchers' default settings, which the preset `paper` uses, next to the paper's."""
    rows = [
        TableRow((short, setting), (TableCell(ours, paper=value),))
        for name, short in SEARCHERS.items()
        for setting, value, ours in _searcher(context, name)
    ]
    return ReportTable(
        "settings",
        "Settings of the searchers",
        "The paper's settings and the defaults here.",
        ("searcher", "setting"),
        ("value",),
        tuple(rows),
        (
            "LORE's two further settings choose variants of its library; the decision tree here uses no probabilities "
            "and estimates no functions.",
        ),
    )


def grids(context: ReportContext) -> ReportTable:
    """Return the grids that models are tuned on, next to the paper's."""
    rows = []
    for model, text in MODELS.items():
        models = context.registry.models
        grid = models[model].entry.family().grid() if model in models else {}
        for name, values in block("grid", model).items():
            ours = grid.get(GRIDS[model][name])
            entry = TableCell(ABSENT if ours is None else ", ".join(_written(one) for one in ours), paper=values)
            rows.append(TableRow((text, name), (entry,)))
    return ReportTable(
        "grids",
        "Settings that models are tuned on",
        "Every combination is tried; what is not listed is scikit-learn's default. For the number of features a split "
        "looks at, sqrt is √d and none is d.",
        ("model", "setting"),
        ("values",),
        tuple(rows),
    )


def _searcher(context: ReportContext, name: str) -> Iterator[tuple[str, str, str]]:
    searchers = context.registry.searchers
    searcher = searchers[name].entry.searcher if name in searchers else None
    defaults = {}
    if isinstance(searcher, type) and issubclass(searcher, Settings):
        defaults = {key: field.default for key, field in searcher.model_fields.items()}
    for setting, value in block("settings", name).items():
        mine = [defaults[key] for key in OURS[name].get(setting, ()) if key in defaults]
        yield setting, value, ", ".join(_written(one) for one in mine) or ABSENT


def _written(value: Any) -> str:
    return "none" if value is None else str(value)


class Accuracies:
    """Test accuracies by data set, model and fold.

    Decision: they are read where tuned settings are kept (the model's own table, the user's cache). Nothing is tuned or
    fitted for a report, so a fold without tuned settings has no accuracy.
    """

    def __init__(self, context: ReportContext, datasets: Mapping[str, Dataset]) -> None:
        self._rows = {
            (name, model): {
                fold: row for fold in range(N_FOLDS) if (row := context.tuned(dataset, model, fold)) is not None
            }
            for model in MODELS
            if model in context.registry.models
            for name, dataset in datasets.items()
        }

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


def accuracy_table(model: str, accuracies: Accuracies) -> ReportTable:
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
    return ReportTable(
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


def tuned_table(model: str, accuracies: Accuracies) -> ReportTable:
    """Return the settings that tuning chose on each fold."""
    rows = [
        TableRow((str(fold),), tuple(TableCell(accuracies.chosen(name, model).get(fold, ABSENT)) for name in DATASETS))
        for fold in range(N_FOLDS)
    ]
    return ReportTable(
        f"tuned-{model}",
        f"Tuned settings, {MODELS[model]}",
        "Chosen by five-fold cross-validation on the training fold; the paper does not print its choices.",
        ("fold",),
        tuple(DATASETS.values()),
        tuple(rows),
    )


def _entry(ours: float | None, paper: float, points: tuple[int, ...], n: str) -> TableCell:
    return TableCell(decimal(ours), n if ours is not None else "", decimal(paper), points, {"accuracy": ours})


EXAMPLES = {
    "credit": "savings",
    "income": "marital-status",
    "housing": "CRIM",
    "productivity": "over_time",
    "recidivism": "age",
}
"""Our names of the features that the paper gives as examples."""

COLUMNS = (
    "n",
    "d",
    "d₂",
    "classes",
    "user",
    "t",
    "constraints ≥, =, ≤",
    "perturbations N, C",
    "accuracy of the forest",
)


def datasets_table(datasets: Mapping[str, Dataset], accuracies: Accuracies) -> ReportTable:
    """Return the table of data sets; those that are not at hand show the paper's numbers alone."""
    rows = [
        TableRow((f"{name} ({short})",), _facts(name, datasets.get(name), accuracies))
        for name, short in DATASETS.items()
    ]
    return ReportTable(
        "data-sets",
        "Data sets",
        "n rows and d features, d₂ of them categorical; t is the class that users want. Constraints let features only "
        "grow (≥), stay (=) or only shrink (≤). Perturbations concern N numerical and C categorical features. Accuracy "
        "on the test folds.",
        ("data set",),
        COLUMNS,
        tuple(rows),
        (
            "Classes, users and targets are named in our words.",
            "One perturbation each of Cre and Rec was annotated under a misspelt name and never applied in the "
            "published experiments [8]; the paper's counts match that, and so do the data sets here.",
        ),
    )


def perturbations_table(datasets: Mapping[str, Dataset]) -> ReportTable:
    """Return the paper's examples of maximal perturbations next to our annotation."""
    rows = []
    for example in published()["perturbations"]:
        name = example["dataset"]
        spec = _feature(datasets, name)
        entry = TableCell(ABSENT if spec is None else _perturbation(spec), paper=example["text"])
        rows.append(TableRow((f"{name} ({DATASETS[name]})", EXAMPLES[name]), (entry,)))
    return ReportTable(
        "perturbations",
        "Examples of perturbations",
        "The largest decrease and increase of a numerical feature, in % of the value to achieve or in its unit; the "
        "categories that a categorical one may turn into.",
        ("data set", "feature"),
        ("decrease / increase, or categories",),
        tuple(rows),
    )


def _facts(name: str, dataset: Dataset | None, accuracies: Accuracies) -> tuple[TableCell, ...]:
    paper = block("datasets", name)
    limits, moves = paper["constraints"], paper["perturbations"]
    says = (
        paper["rows"],
        paper["features"],
        paper["categorical"],
        paper["classes"],
        paper["user"],
        paper["target"],
        f"{limits['only_up']}, {limits['fixed']}, {limits['only_down']}",
        f"{moves['numerical']}, {moves['categorical']}",
    )
    ours = (ABSENT,) * len(says) if dataset is None else _ours(dataset)
    accuracy = accuracies.over_folds(name, "random-forest")
    folds = accuracies.of(name, "random-forest")
    return (
        *(TableCell(str(mine), paper=str(his)) for mine, his in zip(ours, says, strict=True)),
        TableCell(
            mean_and_sd(*accuracy),
            f"{len(folds)} of 5 folds" if folds else "",
            decimal(paper["accuracy"]),
            numbers={"mean": accuracy[0], "sd": accuracy[1], "folds": len(folds)},
        ),
    )


def _ours(dataset: Dataset) -> tuple[object, ...]:
    space = dataset.space
    perturbed = [feature.kind for feature in space.features if feature.perturbation is not None]
    constraints = [feature.constraint for feature in space.features]
    limits = [constraints.count(kind) for kind in (Constraint.ONLY_UP, Constraint.FIXED, Constraint.ONLY_DOWN)]
    return (
        dataset.n,
        space.d,
        int(space.is_categorical.sum()),
        ", ".join(dataset.class_labels),
        dataset.user,
        dataset.class_labels[dataset.target],
        ", ".join(map(str, limits)),
        f"{perturbed.count(Kind.NUMERICAL)}, {perturbed.count(Kind.CATEGORICAL)}",
    )


def _feature(datasets: Mapping[str, Dataset], name: str) -> FeatureSpec | None:
    if name not in datasets:
        return None
    return next((spec for spec in datasets[name].space.features if spec.name == EXAMPLES[name]), None)


def _perturbation(spec: FeatureSpec) -> str:
    move = spec.perturbation
    if isinstance(move, CategoricalPerturbation):
        return f"{{ {', '.join(spec.categories[code] for code in move.codes)} }}"
    if isinstance(move, NumericalPerturbation):
        sides = (f"{side:.0%}" if move.relative else f"{side:g}" for side in (move.decrease, move.increase))
        unit = "" if move.relative or not spec.unit else f" ({spec.unit})"
        return f"{' / '.join(sides)}{unit}"
    return ABSENT
