"""cfbench: benchmarking of counterfactual explanations and of their robustness.

What this module names is the public API; `cfbench.space`, `cfbench.problem`, `cfbench.forests` and the other public
namespaces add what specialists need, and plugins import nothing else of cfbench. Names are loaded when they are first
used, so that ``import cfbench`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.api import StudyResult as StudyResult
    from cfbench.api import judge as judge
    from cfbench.api import run as run
    from cfbench.board.board import Leaderboard as Leaderboard
    from cfbench.board.board import leaderboard as leaderboard
    from cfbench.errors import BudgetExhausted as BudgetExhausted
    from cfbench.errors import CfbenchError as CfbenchError
    from cfbench.explaining.explain import explain as explain
    from cfbench.explaining.explanation import Explanation as Explanation
    from cfbench.models.sklearn_family import SklearnFamily as SklearnFamily
    from cfbench.problem.access import Need as Need
    from cfbench.problem.access import TrainingFold as TrainingFold
    from cfbench.problem.best import Best as Best
    from cfbench.problem.outcome import CounterfactualSet as CounterfactualSet
    from cfbench.problem.problem import Problem as Problem
    from cfbench.record.store import load_record as load_record
    from cfbench.registry.contracts import DataSource as DataSource
    from cfbench.registry.contracts import ModelFamily as ModelFamily
    from cfbench.registry.contracts import Objective as Objective
    from cfbench.registry.contracts import ObjectiveContext as ObjectiveContext
    from cfbench.registry.contracts import PrepareContext as PrepareContext
    from cfbench.registry.contracts import Searcher as Searcher
    from cfbench.registry.entries import Cost as Cost
    from cfbench.registry.entries import DatasetEntry as DatasetEntry
    from cfbench.registry.entries import Direction as Direction
    from cfbench.registry.entries import Handles as Handles
    from cfbench.registry.entries import MetricEntry as MetricEntry
    from cfbench.registry.entries import ModelEntry as ModelEntry
    from cfbench.registry.entries import ObjectiveEntry as ObjectiveEntry
    from cfbench.registry.entries import PresetEntry as PresetEntry
    from cfbench.registry.entries import ReportEntry as ReportEntry
    from cfbench.registry.entries import SearcherEntry as SearcherEntry
    from cfbench.registry.hookspecs import hookimpl as hookimpl
    from cfbench.registry.metrics import CellContext as CellContext
    from cfbench.registry.metrics import ComparisonContext as ComparisonContext
    from cfbench.registry.metrics import Found as Found
    from cfbench.registry.metrics import Metric as Metric
    from cfbench.registry.metrics import Reference as Reference
    from cfbench.space.dataset import Dataset as Dataset
    from cfbench.space.space import CategoricalPerturbation as CategoricalPerturbation
    from cfbench.space.space import Constraint as Constraint
    from cfbench.space.space import FeatureSpace as FeatureSpace
    from cfbench.space.space import FeatureSpec as FeatureSpec
    from cfbench.space.space import Kind as Kind
    from cfbench.space.space import NumericalPerturbation as NumericalPerturbation
    from cfbench.study.study import Study as Study
    from cfbench.tables.annotate import annotate as annotate

__all__, __getattr__, __dir__ = public_names(__name__, also=["__version__"])
__version__ = "0.1.0"
