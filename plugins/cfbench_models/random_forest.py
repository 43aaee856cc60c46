"""The random forest of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, FloatArray, ForestStructure, IntArray, ModelFamily, Oracle
from cfbench_models.encoding import fit_encoding
from cfbench_models.scikit_model import ScikitModel, n_classes_of


class RandomForest(ModelFamily):
    """A forest of CART trees; a setting that is left out is chosen from the paper's grid on the training fold.

    Parameters
    ----------
    n_estimators : int, optional
        Trees. Grid: 50, 500.
    min_samples_split : int, optional
        Rows that a node needs to be split. Grid: 2, 8.
    max_features : {"sqrt", "all"}, optional
        Columns that a split chooses from: the square root of their number, or all. Grid: both.

    References
    ----------
    Virgolin and Fracaros, appendix "Hyper-parameter optimization of random forest and neural network". The rest is
    scikit-learn's default. Categorical features with more than two categories are one-hot encoded.
    """

    n_estimators: int | None = Field(default=None, ge=1)
    min_samples_split: int | None = Field(default=None, ge=2)
    max_features: Literal["sqrt", "all"] | None = None

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms, where ``max_features=None`` stands for all columns."""
        columns: dict[str | None, list[Any]] = {"sqrt": ["sqrt"], "all": [None], None: ["sqrt", None]}
        return {
            "n_estimators": [50, 500] if self.n_estimators is None else [self.n_estimators],
            "min_samples_split": [2, 8] if self.min_samples_split is None else [self.min_samples_split],
            "max_features": columns[self.max_features],
        }

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy."""
        from cfbench_models.tuning import best_of_grid

        return best_of_grid(_forest(), self.grid(), X, y, space)

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> ForestModel:
        """Grow the forest."""
        from cfbench_models.tuning import quiet_training

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=False)
        with quiet_training():
            forest = _forest().set_params(**hyperparameters).fit(encoding.transform(X), y)
        return ForestModel(encoding, forest, n_classes)


class ForestModel(ScikitModel):
    """A fitted forest."""

    def oracle(self) -> Oracle:
        """Return the way to ask the forest that is fastest in this installation.

        Raises
        ------
        UnavailableError
            If the forest has something that it does not know; the message names it.
        """
        from cfbench_models.forest_oracle import forest_oracle

        return forest_oracle(self)

    def forest_structure(self) -> ForestStructure:
        """Return the trees, laid open for white boxes.

        Raises
        ------
        UnavailableError
            If the forest has something that the structure cannot express; the message names it.
        """
        from cfbench_models.forest_structure import structure_of

        return structure_of(self)

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield each tree's nodes: children, features and thresholds of the splits, class shares."""
        for member in self.classifier.estimators_:
            tree = member.tree_
            yield np.asarray(tree.children_left, dtype=np.int64)
            yield np.asarray(tree.children_right, dtype=np.int64)
            yield np.asarray(tree.feature, dtype=np.int64)
            yield tree.threshold
            yield tree.value


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    from cfbench_models.tuning import RANDOM_STATE

    return RandomForestClassifier(n_jobs=1, random_state=RANDOM_STATE)
