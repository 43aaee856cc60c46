"""The trees of fitted boosted classifiers as arrays, read separately for each library.

Each reader says in which number type its library compares and adds, on which side of a threshold a value goes, and how
the class follows from the scores. All this is checked against the library's own predict, row for row, near thresholds
and near ties.

Missing values do not occur in cfbench. Directions for them are not kept, whatever the library learned.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfbench.errors import UnavailableError
from cfbench.forests import Decision
from cfbench.space import FloatArray
from cfbench_models.forest.laid_open import Thresholds, last_single_below, last_single_up_to


class OneTree(NamedTuple):
    """A tree of N nodes: children, -1 for leaves; the column and the threshold of splits; the value of leaves.

    `score` is the position of the score that the tree adds to.
    """

    left: NDArray[Any]
    right: NDArray[Any]
    column: NDArray[Any]
    threshold: NDArray[Any]
    value: NDArray[Any]
    score: int


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """The trees of a boosted classifier, as :class:`cfbench_models.forest.laid_open.ColumnTrees` describes them.

    `last_left` returns the largest float64 number that goes left at each threshold; `decision`, `single` and `bar` are
    those of :class:`cfbench.forests.ForestStructure`.
    """

    roots: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    column: NDArray[np.int32]
    threshold: Thresholds
    is_split: NDArray[np.bool_]
    shares: FloatArray
    last_left: Callable[[Thresholds], FloatArray]
    decision: Decision = Decision.SUM
    single: bool = False
    bar: float = 0.0

    def arrays(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield what decides the answers, for a model's fingerprint."""
        yield from (self.roots, self.left, self.right, self.column, self.threshold, self.shares)


def joined(
    trees: list[OneTree], baseline: FloatArray, last_left: Callable[[Thresholds], FloatArray], **rule: Any
) -> BoostedTrees:
    """Number the nodes of all trees through, behind a tree of a single leaf that holds the baseline.

    `baseline` has one score for two classes, the lead of the second one, otherwise one score for each class.
    """
    sizes = np.array([1, *(len(tree.left) for tree in trees)])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    left = np.concatenate(
        [[-1], *(np.where(t.left < 0, -1, t.left + at) for t, at in zip(trees, roots[1:], strict=True))]
    )
    right = np.concatenate(
        [[-1], *(np.where(t.left < 0, -1, t.right + at) for t, at in zip(trees, roots[1:], strict=True))]
    )
    is_split = left >= 0
    scores = np.zeros((len(left), len(baseline)))
    scores[0] = baseline
    for tree, at in zip(trees, roots[1:], strict=True):
        scores[at : at + len(tree.left), tree.score] = np.where(tree.left < 0, tree.value, 0.0)
    if len(baseline) == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    none = np.array([-1])
    return BoostedTrees(
        roots=roots.astype(np.int32),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        column=np.where(is_split, np.concatenate([none, *(tree.column for tree in trees)]), -1).astype(np.int32),
        threshold=np.concatenate([trees[0].threshold[:1] * 0, *(tree.threshold for tree in trees)]),
        is_split=is_split,
        shares=scores,
        last_left=last_left,
        **rule,
    )


def read_hist_gradient(classifier: Any) -> BoostedTrees:
    """Read a HistGradientBoostingClassifier: compares float64 by ``<=`` and adds float64, starting with the baseline.

    scikit-learn has no public way to these trees, so private attributes are read here.

    Raises
    ------
    UnavailableError
        If a split looks at a set of categories.
    """
    baseline = classifier._baseline_prediction[0].astype(np.float64)
    trees = []
    for iteration in classifier._predictors:
        for score, predictor in enumerate(iteration):
            nodes = predictor.nodes
            if nodes["is_categorical"].any():
                raise UnavailableError("a split looks at a set of categories")
            is_leaf = nodes["is_leaf"].astype(bool)
            left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
            trees.append(
                OneTree(left, right, nodes["feature_idx"], _finite(nodes["num_threshold"]), nodes["value"], score)
            )
    return joined(trees, baseline, _itself)


def read_lightgbm(classifier: Any) -> BoostedTrees:
    """Read an LGBMClassifier: compares float64 by ``<=`` and adds float64.

    Raises
    ------
    UnavailableError
        If it has another objective than log loss, averages its trees, has linear leaves, or splits on sets of
        categories or on zeros as missing values.
    """
    dump = classifier.booster_.dump_model()
    scores, objective = int(dump["num_tree_per_iteration"]), dump.get("objective", "custom")
    if dump["average_output"] or objective not in ("binary sigmoid:1", f"multiclass num_class:{scores}"):
        raise UnavailableError(
            f"the objective of the LightGBM classifier is {objective!r}; classes are known to follow from the sums of "
            "trees for 'binary' and 'multiclass' alone"
        )
    trees = [_lightgbm_tree(tree, i % scores) for i, tree in enumerate(dump["tree_info"])]
    if scores == 1:
        return joined(trees, np.zeros(1), _beyond_zeros, bar=sigmoid_bar())
    return joined(trees, np.zeros(scores), _beyond_zeros, decision=Decision.SOFTMAX)


_LIGHTGBM_ZERO = float(np.float32(1e-35))
"""LightGBM takes values up to this size for 0."""


def _beyond_zeros(thresholds: Thresholds) -> FloatArray:
    """Return the last number that goes left where small values count as 0; compared in float64 by ``<=``."""
    zeros_left = (thresholds >= 0) & (thresholds < _LIGHTGBM_ZERO)
    zeros_right = (thresholds < 0) & (thresholds >= -_LIGHTGBM_ZERO)
    last: FloatArray = np.where(zeros_left, _LIGHTGBM_ZERO, thresholds)
    return np.where(zeros_right, np.nextafter(-_LIGHTGBM_ZERO, -np.inf), last)


def _lightgbm_tree(tree: dict[str, Any], score: int) -> OneTree:
    rows: list[list[float]] = []

    def add(node: dict[str, Any]) -> int:
        at = len(rows)
        rows.append([-1, -1, -1, 0.0, 0.0])
        if "split_index" not in node:
            if "leaf_const" in node:
                raise UnavailableError("the LightGBM classifier has linear models in its leaves")
            rows[at][4] = node["leaf_value"]
            return at
        if node["decision_type"] != "<=":
            raise UnavailableError("a split looks at a set of categories")
        if node["missing_type"] == "Zero":
            raise UnavailableError("a split takes zeros for missing values")
        left, right = add(node["left_child"]), add(node["right_child"])
        rows[at] = [left, right, node["split_feature"], node["threshold"], 0.0]
        return at

    add(tree["tree_structure"])
    left, right, column, threshold, value = np.array(rows, dtype=np.float64).T
    left, right, column = (part.astype(np.int64) for part in (left, right, column))
    return OneTree(left, right, column, _finite(threshold), value, score)


def read_xgboost(classifier: Any) -> BoostedTrees:
    """Read an XGBClassifier: compares float32 by ``<`` and adds float32, starting with the base score.

    Raises
    ------
    UnavailableError
        If it has another booster than gbtree or another objective than log loss, stops early, or splits on sets of
        categories.
    """
    learner = json.loads(classifier.get_booster().save_raw("json").decode())["learner"]
    objective, booster = learner["objective"]["name"], learner["gradient_booster"]["name"]
    if objective not in ("binary:logistic", "multi:softprob") or booster != "gbtree":
        raise UnavailableError(
            f"the XGBoost classifier has booster {booster!r} and objective {objective!r}; classes are known to follow "
            "from the sums of trees for 'gbtree' with 'binary:logistic' or 'multi:softprob' alone"
        )
    if getattr(classifier, "early_stopping_rounds", None) is not None:
        raise UnavailableError("the XGBoost classifier stops early, so it does not use all of its trees")
    base = np.array(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32, ndmin=1)
    model = learner["gradient_booster"]["model"]
    trees = []
    for tree, score in zip(model["trees"], model["tree_info"], strict=True):
        if any(tree["split_type"]):
            raise UnavailableError("a split looks at a set of categories")
        left, right, column = (np.array(tree[name]) for name in ("left_children", "right_children", "split_indices"))
        # A leaf has its value for a condition.
        condition = np.array(tree["split_conditions"], dtype=np.float32)
        trees.append(OneTree(left, right, column, condition, condition.astype(np.float64), score))
    if objective == "binary:logistic":
        # The base score is a probability; its logit is taken in float32.
        odds = np.float32(1) / base - np.float32(1)
        margin = -np.log(odds.astype(np.float64)).astype(np.float32)
        return joined(trees, margin.astype(np.float64), last_single_below, single=True, bar=single_sigmoid_bar())
    scores = int(learner["learner_model_param"]["num_class"])
    baseline = np.broadcast_to(base, scores).astype(np.float64)
    return joined(trees, baseline, last_single_below, single=True, decision=Decision.SOFTMAX)


def read_catboost(classifier: Any) -> BoostedTrees:
    """Read a CatBoostClassifier: compares float32 by ``<=`` and adds float64; its bias is added last.

    Its trees are oblivious: all splits of one level are the same.

    Raises
    ------
    UnavailableError
        If it has another objective than log loss, scales its sums, or splits on anything but numbers.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        classifier.save_model(str(file), format="json")
        model = json.loads(file.read_text(encoding="utf-8"))
    objective = model["model_info"]["params"]["loss_function"]["type"]
    scale, bias = model["scale_and_bias"]
    if objective not in ("Logloss", "MultiClass") or scale != 1 or "oblivious_trees" not in model:
        raise UnavailableError(
            f"the CatBoost classifier has objective {objective!r} and scale {scale}; classes are known to follow from "
            "the sums of oblivious trees for 'Logloss' and 'MultiClass' with scale 1 alone"
        )
    trees = [tree for oblivious in model["oblivious_trees"] for tree in _oblivious_tree(oblivious, len(bias))]
    if any(bias):
        none = np.array([-1])
        trees += [OneTree(none, none, none, np.zeros(1), np.array([one]), k) for k, one in enumerate(bias)]
    return joined(trees, np.zeros(len(bias)), last_single_up_to)


def _oblivious_tree(oblivious: dict[str, Any], scores: int) -> Iterator[OneTree]:
    """Yield an oblivious tree as one tree for each score, nodes level by level."""
    if any(split["split_type"] != "FloatFeature" for split in oblivious["splits"]):
        raise UnavailableError("a split looks at something else than a number")
    levels = oblivious["splits"][::-1]  # the first split is the lowest bit of a leaf's number
    values = np.array(oblivious["leaf_values"]).reshape(2 ** len(levels), scores)
    n = 2 ** len(levels) - 1
    places = np.arange(n + len(values))
    level = np.floor(np.log2(places[:n] + 1)).astype(np.int64)
    of_leaves = np.full(len(values), -1)
    left, right = (np.concatenate([2 * places[:n] + side, of_leaves]) for side in (1, 2))
    columns = np.array([split["float_feature_index"] for split in levels], dtype=np.int64)
    borders = np.array([split["border"] for split in levels], dtype=np.float32)
    column = np.concatenate([columns[level], of_leaves])
    threshold = np.concatenate([borders[level], np.zeros(len(values), dtype=np.float32)])
    for k in range(scores):
        yield OneTree(left, right, column, threshold, np.concatenate([np.zeros(n), values[:, k]]), k)


def _finite(thresholds: FloatArray) -> FloatArray:
    """Replace a threshold that all numbers are below by the largest number: such a split separates missing values."""
    kept: FloatArray = np.minimum(thresholds, np.finfo(np.float64).max)
    return kept


def _itself(thresholds: Thresholds) -> FloatArray:
    """Return the thresholds, for libraries that compare float64 by ``<=``."""
    own: FloatArray = thresholds.astype(np.float64)
    return own


def sigmoid_bar() -> float:
    """Return the largest score whose sigmoid, taken in float64, is not above 1/2."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return low
        if 1.0 / (1.0 + math.exp(-middle)) > 0.5:
            high = middle
        else:
            low = middle


def single_sigmoid_bar() -> float:
    """Return the largest float32 score whose sigmoid, taken in float32, is not above 1/2."""
    one, low, high = np.float32(1), 0, int(np.float32(1).view(np.uint32))
    while high - low > 1:  # positive float32 numbers have the order of their bits
        middle = (low + high) // 2
        score = np.uint32(middle).view(np.float32)
        if one / (one + np.float32(math.exp(-float(score)))) > np.float32(0.5):
            high = middle
        else:
            low = middle
    return float(np.uint32(low).view(np.float32))
