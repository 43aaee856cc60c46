"""DiCE: the genetic method of the library dice-ml, which answers with a set."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from cfbench import CounterfactualSet, Problem, Searcher
from cfbench_searchers.dice_table import DiceTable, MeteredModel, NoTargetInSightError

if TYPE_CHECKING:
    import pandas as pd


class DiceA(Searcher):
    """Diverse Counterfactual Explanations, the paper's configuration "a": the library's weights, more iterations.

    The library itself (dice-ml 0.12) searches, with its method "genetic", and what it answers is returned as it is. Its
    population is ten times as large as the set. It starts from the rows of the training fold that the model puts into
    the target class, those nearest to `x` in a k-d tree. It stops when the best loss has not improved for five
    generations.

    Decisions: the start is the library's default, the k-d tree, as in the published experiments. Both starts draw
    random points, one row at a time, until they have enough of the target class. The k-d tree does so where the fold
    has too few different rows of that class. The library would draw forever where the model never says the target
    class, so the search gives up (`None`, with the reason) after `patience` drawn points in a row of other classes. A
    search that exhausts its query budget lets that pass: what it has queried until then is judged.

    Known of this version: a numerical feature that mutates takes the lower end of its interval, so its other values
    come from the first population alone. Parents are not chosen by their loss. Values of `x` get into the population by
    chance, or where a row of the fold has them. So most features are changed. The k-d tree compares the one-hot columns
    of `x` with those of the fold in another order, and numerical features in raw units. Where the fold has fewer rows
    of the target class than the population has places, a row of zeros joins the population.

    Parameters
    ----------
    n_counterfactuals : int
        Of the set. At least 2, since the library cannot mate what is left of a smaller population.
    n_iterations : int
        Generations at most.
    proximity_weight, sparsity_weight : float
        Of the loss's terms: distance over the numerical features, and share of changed features.
    diversity_weight : float
        Passed on, but the genetic method of this version does not use it.
    patience : int
        Random points in a row that may be of other classes.
    initialization : {"kdtree", "random"}
        Where the population starts: from rows of the training fold, or from random points.

    References
    ----------
    Mothilal, Sharma and Tan, "Explaining machine learning classifiers through diverse counterfactual explanations",
    FAT* 2020. The genetic method: Schleich, Geng, Zhang and Suciu, "GeCo: quality counterfactual explanations in real
    time", VLDB 2021.
    """

    n_counterfactuals: int = Field(default=20, ge=2)
    n_iterations: int = Field(default=500, ge=1)
    proximity_weight: float = Field(default=0.2, ge=0)
    sparsity_weight: float = Field(default=0.2, ge=0)
    diversity_weight: float = Field(default=5.0, ge=0)
    patience: int = Field(default=10_000, ge=1)
    initialization: Literal["kdtree", "random"] = "kdtree"

    def search(self, problem: Problem, rng: np.random.Generator) -> CounterfactualSet | None:
        """Return the library's set; None where it finds nothing or nothing may change."""
        table = DiceTable(problem)
        if not table.free:
            problem.give_reason("no feature may change")
            return None
        with _generators_kept(), _quiet():
            explainer = _explainer(table, MeteredModel(problem, table, self.patience))
            # The library draws from the global generators alone.
            random.seed(int(rng.integers(2**63)))
            np.random.seed(rng.integers(2**32, size=4, dtype=np.uint32))  # noqa: NPY002 - the global one is meant
            try:
                found = self._explain(explainer, table, problem.target)
            except NoTargetInSightError:
                problem.give_reason("the random points of the start, `patience` of them in a row, are of other classes")
                return None
        if found is None:
            problem.give_reason("the best of the library's last generation are of other classes")
            return None
        return CounterfactualSet(table.points(found))

    def _explain(self, explainer: Any, table: DiceTable, target: int) -> pd.DataFrame | None:
        """Let the library search; return its set as a frame, None where it found nothing."""
        import pandas as pd
        from dice_ml.explainer_interfaces.explainer_base import UserConfigValidationException

        try:
            explanations = explainer.generate_counterfactuals(
                table.factual(),
                total_CFs=self.n_counterfactuals,
                desired_class=target,
                initialization=self.initialization,
                features_to_vary=table.free,
                permitted_range=table.permitted_range,
                # The library's distance over no features breaks off; without a weight it is left out.
                proximity_weight=self.proximity_weight if table.numerical else 0,
                sparsity_weight=self.sparsity_weight,
                diversity_weight=self.diversity_weight,
                maxiterations=self.n_iterations,
            )
        except UserConfigValidationException:
            # Raised for an empty answer, but also for wrong arguments; those leave no (empty) answer behind.
            if getattr(explainer, "final_cfs", None) != []:
                raise
            return None
        except ValueError:
            # A population that is one point over and over has no two parents, and the library breaks off.
            population = np.unique(explainer.cfs, axis=0)
            if len(population) != 1:
                raise
            return pd.DataFrame(explainer.label_decode(population))
        return pd.DataFrame(explanations.cf_examples_list[0].final_cfs_df)


class DiceB(DiceA):
    """DiCE in the paper's configuration "b", set up like CoGS: a larger set, fewer iterations, no diversity.

    All else is as in `DiceA`.
    """

    n_counterfactuals: int = Field(default=100, ge=2)
    n_iterations: int = Field(default=100, ge=1)
    proximity_weight: float = Field(default=0.5, ge=0)
    sparsity_weight: float = Field(default=0.5, ge=0)
    diversity_weight: float = Field(default=0.0, ge=0)


def _explainer(table: DiceTable, model: MeteredModel) -> Any:
    """Return the library's explainer."""
    import dice_ml

    data = dice_ml.Data(
        dataframe=table.training(),
        continuous_features=table.numerical,
        outcome_name=table.outcome,
        continuous_features_precision=table.precisions,
    )
    return dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn", model_type="classifier"), method="genetic")


@contextmanager
def _generators_kept() -> Iterator[None]:
    """Restore the global generators of Python and numpy afterwards; importing the library draws from them, too."""
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - the global one is meant
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 - as above


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's progress bar and warnings to itself.

    Its bar runs over one point. It also starts a thread and creates a lock between processes, which a killed worker
    leaves behind; no argument of the library turns it off. Its warnings are of divisions by zero, for features without
    a spread and where all weights of a distance round to zero: its answer is judged as it is.
    """
    from dice_ml.explainer_interfaces import explainer_base

    progress_bar = explainer_base.tqdm
    explainer_base.tqdm = iter
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(divide by zero|invalid value)", RuntimeWarning, r"dice_ml\b")
            yield
    finally:
        explainer_base.tqdm = progress_bar
