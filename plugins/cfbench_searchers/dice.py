"""DiCE: the genetic method of the library dice-ml, which answers with a set."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from cfbench import CounterfactualSet, Problem, Searcher
from cfbench_searchers.dice_table import DiceTable, MeteredModel, NoTargetInSightError

if TYPE_CHECKING:
    import pandas as pd


class DiceA(Searcher):
    """Diverse Counterfactual Explanations, the paper's configuration "a": the library's weights, more iterations.

    The library itself (dice-ml 0.12) searches, with its method "genetic", and what it answers is returned as it is. It
    draws points, a row at a time, until it has ten of the target class for each counterfactual asked for, lets them
    evolve, and stops once the best of the target class have not got better for five generations.

    Decisions: the population starts at random, since the start from a k-d tree may never end. The library goes on
    drawing for ever where the model does not say the target class; the search gives up (`None`) when `patience` random
    points in a row are not of it. Of the training fold the library uses how far the values are spread. A search that
    uses up its query budget lets that pass: what it has asked until then is judged.

    Known of this version: a number that mutates takes the lower end of its interval; parents are not chosen by their
    loss; numbers of `x` get into the population by chance alone. So most features are changed.

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

    def search(self, problem: Problem, rng: np.random.Generator) -> CounterfactualSet | None:
        """Return the library's set; None where it finds nothing or nothing may change."""
        table = DiceTable(problem)
        if not table.free:
            return None
        with _generators_kept(), _quiet():
            explainer = _explainer(table, MeteredModel(problem, table, self.patience))
            # The library draws from the global generators alone.
            random.seed(int(rng.integers(2**63)))
            np.random.seed(rng.integers(2**32, size=4, dtype=np.uint32))  # noqa: NPY002 - the global one is meant
            try:
                found = self._explain(explainer, table, problem.target)
            except NoTargetInSightError:
                return None
        return None if found is None else CounterfactualSet(table.points(found))

    def _explain(self, explainer: Any, table: DiceTable, target: int) -> pd.DataFrame | None:
        """Let the library search; return its set as a frame, None where it found nothing."""
        import pandas as pd
        from dice_ml.explainer_interfaces.explainer_base import UserConfigValidationException

        try:
            explanations = explainer.generate_counterfactuals(
                table.factual(),
                total_CFs=self.n_counterfactuals,
                desired_class=target,
                initialization="random",
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

    Its bar runs over the one point that is asked for; beside, it starts a thread, and a lock between processes that is
    left behind where a worker is killed. Its warnings are of divisions by zero, for features without a spread and where
    all weights of a distance round to zero: its answer is judged as it is, and there is nothing for users to mend.
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
