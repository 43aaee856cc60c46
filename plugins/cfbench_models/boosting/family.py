"""Gradient boosting as model families: scikit-learn's own, and XGBoost, LightGBM and CatBoost where installed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from cfbench import FeatureSpace, ModelFamily
from cfbench.forests import ForestStructure
from cfbench.models import RANDOM_STATE, Encoding, fit_encoding, n_classes_of, without_names
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray
from cfbench_models.boosting.reading import BoostedTrees, read_catboost, read_hist_gradient, read_lightgbm, read_xgboost
from cfbench_models.forest.laid_open import TreeModel, laid_open


class Boosting(ModelFamily):
    """What the families of gradient boosting share: encoding, classes as positions, one thread, and the seed."""

    read: ClassVar[Callable[[Any], BoostedTrees]]
    """Reads the trees of a fitted classifier."""

    library_class: ClassVar[str]
    """The library's name and that of its classifier."""

    @abstractmethod
    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier, with everything set that the grid does not set."""

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy."""
        from cfbench.models import best_of_grid  # it loads scikit-learn

        positions = np.unique(y, return_inverse=True)[1]
        return best_of_grid(self.classifier(RANDOM_STATE), self.grid(), X, positions, space)

    def fit(
        self,
        X: FloatArray,
        y: IntArray,
        space: FeatureSpace,
        hyperparameters: Mapping[str, Any],
        seed: int = RANDOM_STATE,
    ) -> BoostedModel:
        """Grow the trees, one after the other, on one thread."""
        from cfbench.models import quiet_training  # it loads scikit-learn

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=False)
        codes, positions = np.unique(y, return_inverse=True)
        classifier = self.classifier(seed).set_params(**hyperparameters)
        with quiet_training():
            classifier.fit(encoding.transform(X), positions)
        return BoostedModel(encoding, classifier, n_classes, codes.astype(np.int64), type(self).read)

    @classmethod
    def around(cls, encoding: Encoding, classifier: Any, codes: IntArray, n_classes: int) -> BoostedModel | None:
        """Return the model around an ensemble of this library that was grown elsewhere."""
        if f"{type(classifier).__module__.partition('.')[0]}.{type(classifier).__name__}" != cls.library_class:
            return None
        return BoostedModel(encoding, without_names(classifier), n_classes, codes, cls.read)


class BoostedModel(TreeModel):
    """A fitted boosted ensemble.

    Parameters
    ----------
    encoding : Encoding
    classifier : classifier
        Fitted on any labels, such as positions 0 to K - 1.
    n_classes : int
    codes : ndarray of int64, shape (K,)
        The class codes of its ``classes_``.
    read : callable
        Reads the trees of the classifier.
    """

    def __init__(
        self,
        encoding: Encoding,
        classifier: Any,
        n_classes: int,
        codes: IntArray,
        read: Callable[[Any], BoostedTrees],
    ) -> None:
        super().__init__(encoding, classifier, n_classes)
        self.codes = codes
        self.read = read

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the library's own answer: class codes, int64, shape (n,)."""
        if len(Z) == 0:
            return np.empty(0, dtype=np.int64)
        labels = np.asarray(self.classifier.predict(self.encoding.transform(Z))).reshape(-1)
        codes: IntArray = self.codes[np.searchsorted(self.classifier.classes_, labels)]
        return codes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the library's own probabilities, shape (n, n_classes); a class that training lacked has 0."""
        probabilities = np.zeros((len(Z), self.n_classes))
        if len(Z) > 0:
            probabilities[:, self.codes] = self.classifier.predict_proba(self.encoding.transform(Z))
        return probabilities

    def oracle(self) -> Oracle:
        """Return the compiled oracle where numba is installed, otherwise the library itself.

        Raises
        ------
        UnavailableError
            If the ensemble has something that the arrays cannot express; the message names it.
        """
        from cfbench_models.forest.oracle import additive_oracle  # it loads a compiler, where there is one

        return additive_oracle(self)

    def laid_open(self) -> ForestStructure:
        """Make the structure."""
        trees = self.read(self.classifier)
        return laid_open(
            trees,
            self.encoding,
            self.codes,
            trees.last_left,
            decision=trees.decision,
            single=trees.single,
            bar=trees.bar,
        )

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield the class codes and the trees."""
        yield self.codes
        yield from self.read(self.classifier).arrays()


class GradientBoosting(Boosting):
    """scikit-learn's histogram-based gradient boosting (HistGradientBoostingClassifier).

    A setting that is None is chosen on the training fold. Trees grow without early stopping; the rest is
    scikit-learn's default. Categorical features with more than two categories are one-hot encoded.

    Parameters
    ----------
    max_iter : int
        Trees for each score.
    learning_rate : float, optional
        What each tree's leaves are multiplied by. Grid: 0.03, 0.1.
    max_leaf_nodes : int, optional
        Leaves of a tree at most. Grid: 7, 31.

    References
    ----------
    Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001.
    """

    read: ClassVar[Callable[[Any], BoostedTrees]] = staticmethod(read_hist_gradient)
    library_class = "sklearn.HistGradientBoostingClassifier"

    max_iter: int = Field(default=100, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)
    max_leaf_nodes: int | None = Field(default=None, ge=2)

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms."""
        return {
            "max_iter": [self.max_iter],
            "learning_rate": [0.03, 0.1] if self.learning_rate is None else [self.learning_rate],
            "max_leaf_nodes": [7, 31] if self.max_leaf_nodes is None else [self.max_leaf_nodes],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

        return HistGradientBoostingClassifier(early_stopping=False, random_state=seed)


class XGBoost(Boosting):
    """XGBoost's gradient boosting with histograms (XGBClassifier).

    A setting that is None is chosen on the training fold; the rest is XGBoost's default. Categorical features with more
    than two categories are one-hot encoded.

    Parameters
    ----------
    n_estimators : int
        Trees for each score.
    learning_rate : float, optional
        What each tree's leaves are multiplied by. Grid: 0.03, 0.1.
    max_depth : int, optional
        Splits on a way to a leaf at most. Grid: 3, 6.

    References
    ----------
    Chen and Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.
    """

    read: ClassVar[Callable[[Any], BoostedTrees]] = staticmethod(read_xgboost)
    library_class = "xgboost.XGBClassifier"

    n_estimators: int = Field(default=100, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)
    max_depth: int | None = Field(default=None, ge=1)

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in XGBoost's terms."""
        return {
            "n_estimators": [self.n_estimators],
            "learning_rate": [0.03, 0.1] if self.learning_rate is None else [self.learning_rate],
            "max_depth": [3, 6] if self.max_depth is None else [self.max_depth],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from xgboost import XGBClassifier  # an extra

        return XGBClassifier(tree_method="hist", n_jobs=1, random_state=seed)


class LightGBM(Boosting):
    """LightGBM's gradient boosting (LGBMClassifier).

    A setting that is None is chosen on the training fold; the rest is LightGBM's default. Categorical features with
    more than two categories are one-hot encoded.

    Parameters
    ----------
    n_estimators : int
        Trees for each score.
    learning_rate : float, optional
        What each tree's leaves are multiplied by. Grid: 0.03, 0.1.
    num_leaves : int, optional
        Leaves of a tree at most. Grid: 7, 31.

    References
    ----------
    Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.
    """

    read: ClassVar[Callable[[Any], BoostedTrees]] = staticmethod(read_lightgbm)
    library_class = "lightgbm.LGBMClassifier"

    n_estimators: int = Field(default=100, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)
    num_leaves: int | None = Field(default=None, ge=2)

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in LightGBM's terms."""
        return {
            "n_estimators": [self.n_estimators],
            "learning_rate": [0.03, 0.1] if self.learning_rate is None else [self.learning_rate],
            "num_leaves": [7, 31] if self.num_leaves is None else [self.num_leaves],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from lightgbm import LGBMClassifier  # an extra

        return LGBMClassifier(deterministic=True, force_row_wise=True, n_jobs=1, random_state=seed, verbose=-1)


class CatBoost(Boosting):
    """CatBoost's gradient boosting with oblivious trees (CatBoostClassifier).

    A setting that is None is chosen on the training fold; the rest is CatBoost's default. Categorical features with
    more than two categories are one-hot encoded, so CatBoost sees numbers alone.

    Parameters
    ----------
    iterations : int
        Trees for each score.
    learning_rate : float, optional
        What each tree's leaves are multiplied by. Grid: 0.03, 0.1.
    depth : int, optional
        Levels of a tree. Grid: 4, 6.

    References
    ----------
    Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", NeurIPS 2018.
    """

    read: ClassVar[Callable[[Any], BoostedTrees]] = staticmethod(read_catboost)
    library_class = "catboost.CatBoostClassifier"

    iterations: int = Field(default=100, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)
    depth: int | None = Field(default=None, ge=1, le=16)

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in CatBoost's terms."""
        return {
            "iterations": [self.iterations],
            "learning_rate": [0.03, 0.1] if self.learning_rate is None else [self.learning_rate],
            "depth": [4, 6] if self.depth is None else [self.depth],
        }

    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier."""
        from catboost import CatBoostClassifier  # an extra

        return CatBoostClassifier(thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False)
