"""The random forest of the paper, extra trees and single trees, and their trees laid open for white boxes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, ModelFamily
from cfbench.forests import ForestStructure
from cfbench.models import RANDOM_STATE, Encoding, fit_encoding, n_classes_of, without_names
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest.laid_open import TreeModel, laid_open, last_single_up_to
from cfbench_models.forest.tables import FlatTrees, trees_of

TREES = ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier")
"""The classifiers of scikit-learn whose trees are read."""

_COLUMNS: dict[str | None, list[Any]] = {"sqrt": ["sqrt"], "all": [None], None: ["sqrt", None]}
"""The choices of `max_features` by setting."""


class TreeFamily(ModelFamily):
    """What the families of scikit-learn's trees share: tuned by accuracy, grown on encoded rows, on one thread."""

    @abstractmethod
    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier, with everything set that the grid does not set."""

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy."""
        from cfbench.models import best_of_grid  # it loads scikit-learn

        return best_of_grid(self.classifier(RANDOM_STATE), self.grid(), X, y, space)

    def fit(
        self,
        X: FloatArray,
        y: IntArray,
        space: FeatureSpace,
        hyperparameters: Mapping[str, Any],
        seed: int = RANDOM_STATE,
    ) -> ForestModel:
        """Grow the trees."""
        from cfbench.models import quiet_training  # it loads scikit-learn

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=False)
        classifier = self.classifier(seed).set_params(**hyperparameters)
        with quiet_training():
            classifier.fit(encoding.transform(X), y)
        return ForestModel(encoding, classifier, n_classes)

    @classmethod
    def around(cls, encoding: Encoding, classifier: Any, codes: IntArray, n_classes: int) -> ForestModel | None:
        """Return the model around a forest or a tree of scikit-learn that was grown elsewhere."""
        if type(classifier).__name__ not in TREES or not type(classifier).__module__.startswith("sklearn."):
            return None
        return ForestModel(encoding, without_names(classifier), n_classes, codes)


class RandomForest(TreeFamily):
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
        return {
            "n_estimators": [50, 500] if self.n_estimators is None else [self.n_estimators],
            "min_samples_split": [2, 8] if self.min_samples_split is None else [self.min_samples_split],
            "max_features": _COLUMNS[self.max_features],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from sklearn.ensemble import RandomForestClassifier  # slow to import

        return RandomForestClassifier(n_jobs=1, random_state=seed)


class ExtraTrees(TreeFamily):
    """Extremely randomised trees; a setting that is None is chosen on the training fold.

    Parameters
    ----------
    n_estimators : int
        Trees.
    min_samples_split : int, optional
        Rows that a node needs to be split. Grid: 2, 8.
    max_features : {"sqrt", "all"}, optional
        Columns that a split chooses from: the square root of their number, or all. Grid: both.

    References
    ----------
    Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006. The rest is scikit-learn's
    default. Categorical features with more than two categories are one-hot encoded.
    """

    n_estimators: int = Field(default=100, ge=1)
    min_samples_split: int | None = Field(default=None, ge=2)
    max_features: Literal["sqrt", "all"] | None = None

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms, where ``max_features=None`` stands for all columns."""
        return {
            "n_estimators": [self.n_estimators],
            "min_samples_split": [2, 8] if self.min_samples_split is None else [self.min_samples_split],
            "max_features": _COLUMNS[self.max_features],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from sklearn.ensemble import ExtraTreesClassifier  # slow to import

        return ExtraTreesClassifier(n_jobs=1, random_state=seed)


class DecisionTree(TreeFamily):
    """A CART tree; a setting that is None is chosen on the training fold.

    Parameters
    ----------
    max_depth : int, optional
        Splits on a way to a leaf at most. Grid: 4, 8.
    min_samples_leaf : int, optional
        Training rows of a leaf. Grid: 1, 10.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984. The rest is scikit-learn's
    default. Categorical features with more than two categories are one-hot encoded.
    """

    max_depth: int | None = Field(default=None, ge=1)
    min_samples_leaf: int | None = Field(default=None, ge=1)

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms."""
        return {
            "max_depth": [4, 8] if self.max_depth is None else [self.max_depth],
            "min_samples_leaf": [1, 10] if self.min_samples_leaf is None else [self.min_samples_leaf],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from sklearn.tree import DecisionTreeClassifier  # slow to import

        return DecisionTreeClassifier(random_state=seed)


class ForestModel(TreeModel):
    """A fitted forest, or a single tree."""

    def oracle(self) -> Oracle:
        """Return the way to ask the forest that is fastest in this installation.

        Raises
        ------
        UnavailableError
            If the forest has something that it does not know; the message names it.
        """
        from cfbench_models.forest.oracle import forest_oracle

        return forest_oracle(self)

    def laid_open(self) -> ForestStructure:
        """Make the structure."""
        return laid_open(FlatTrees(self.classifier), self.encoding, self.class_codes(), last_single_up_to)

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield each tree's nodes: children, features and thresholds of the splits, class shares."""
        for tree in trees_of(self.classifier):
            yield np.asarray(tree.children_left, dtype=np.int64)
            yield np.asarray(tree.children_right, dtype=np.int64)
            yield np.asarray(tree.feature, dtype=np.int64)
            yield tree.threshold
            yield tree.value
