"""cfbench: benchmarking of counterfactual explanations and of their robustness.

What this module names is the public API; plugins import nothing else of cfbench. Names are loaded when they are first
used, so that ``import cfbench`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfbench.api.explain import explain as explain
    from cfbench.api.explanation import Explanation as Explanation
    from cfbench.api.study_run import StudyResult as StudyResult
    from cfbench.api.study_run import run as run
    from cfbench.best import Best as Best
    from cfbench.contracts import DataSource as DataSource
    from cfbench.contracts import FittedModel as FittedModel
    from cfbench.contracts import ModelFamily as ModelFamily
    from cfbench.contracts import Objective as Objective
    from cfbench.contracts import ObjectiveContext as ObjectiveContext
    from cfbench.contracts import Searcher as Searcher
    from cfbench.contracts import Settings as Settings
    from cfbench.counter_random import descended_key as descended_key
    from cfbench.counter_random import uniform_share as uniform_share
    from cfbench.dataset import Dataset as Dataset
    from cfbench.digests import digest_of as digest_of
    from cfbench.digests import digest_of_arrays as digest_of_arrays
    from cfbench.distributions import Distribution as Distribution
    from cfbench.entries import DatasetEntry as DatasetEntry
    from cfbench.entries import Direction as Direction
    from cfbench.entries import Handles as Handles
    from cfbench.entries import MetricEntry as MetricEntry
    from cfbench.entries import ModelEntry as ModelEntry
    from cfbench.entries import Need as Need
    from cfbench.entries import ObjectiveEntry as ObjectiveEntry
    from cfbench.entries import SearcherEntry as SearcherEntry
    from cfbench.errors import BudgetExhausted as BudgetExhausted
    from cfbench.errors import CfbenchError as CfbenchError
    from cfbench.errors import DataError as DataError
    from cfbench.errors import ModelError as ModelError
    from cfbench.errors import TrackingError as TrackingError
    from cfbench.errors import UnavailableError as UnavailableError
    from cfbench.errors import UnknownNameError as UnknownNameError
    from cfbench.events import CellFinished as CellFinished
    from cfbench.events import CellInfo as CellInfo
    from cfbench.events import CellStarted as CellStarted
    from cfbench.events import RunFinished as RunFinished
    from cfbench.events import RunStarted as RunStarted
    from cfbench.events import SearchFinished as SearchFinished
    from cfbench.forests.certificate import Certificate as Certificate
    from cfbench.forests.certificate import Settled as Settled
    from cfbench.forests.certificate import k_certificate as k_certificate
    from cfbench.forests.compiling import compiled_or_plain as compiled_or_plain
    from cfbench.forests.compiling import inlined_or_plain as inlined_or_plain
    from cfbench.forests.probability import Interval as Interval
    from cfbench.forests.probability import k_probability as k_probability
    from cfbench.forests.rehearsal import toy_forest as toy_forest
    from cfbench.forests.structure import ForestNodes as ForestNodes
    from cfbench.forests.structure import ForestStructure as ForestStructure
    from cfbench.forests.structure import ShowsForest as ShowsForest
    from cfbench.forests.structure import forest_of as forest_of
    from cfbench.forests.sweeps import entered as entered
    from cfbench.forests.sweeps import leads_along as leads_along
    from cfbench.forests.sweeps import leads_of as leads_of
    from cfbench.forests.sweeps import leads_of_pair as leads_of_pair
    from cfbench.forests.walks import class_of_cells as class_of_cells
    from cfbench.forests.walks import only_side as only_side
    from cfbench.harness.again import command_again as command_again
    from cfbench.harness.caches import cache_folder as cache_folder
    from cfbench.harness.kernels import Kernels as Kernels
    from cfbench.harness.kernels import compiled as compiled
    from cfbench.harness.mirrored_record import MirroredCell as MirroredCell
    from cfbench.harness.mirrored_record import MirrorListing as MirrorListing
    from cfbench.harness.moved_store import follow_moved_store as follow_moved_store
    from cfbench.harness.run_report import RunReport as RunReport
    from cfbench.harness.store.load import load_record as load_record
    from cfbench.harness.store.schema import MEASURE_SCHEMA as MEASURE_SCHEMA
    from cfbench.harness.store.schema import SEARCH_SCHEMA as SEARCH_SCHEMA
    from cfbench.harness.study import Study as Study
    from cfbench.harness.tracking import CELL_VIEW as CELL_VIEW
    from cfbench.harness.tracking import CHART_VIEW as CHART_VIEW
    from cfbench.harness.tracking import SUMMARY_TAG as SUMMARY_TAG
    from cfbench.harness.tracking import TABLE_VIEW as TABLE_VIEW
    from cfbench.harness.tracking import VIEW_TAG_PREFIX as VIEW_TAG_PREFIX
    from cfbench.harness.tracking import shown_address as shown_address
    from cfbench.harness.tracking import sqlite_path as sqlite_path
    from cfbench.hookspecs import hookimpl as hookimpl
    from cfbench.leaderboard import Leaderboard as Leaderboard
    from cfbench.leaderboard import leaderboard as leaderboard
    from cfbench.metric_contracts import CellContext as CellContext
    from cfbench.metric_contracts import ComparisonMetric as ComparisonMetric
    from cfbench.metric_contracts import CounterfactualMetric as CounterfactualMetric
    from cfbench.metric_contracts import ObjectiveComparison as ObjectiveComparison
    from cfbench.metric_contracts import ReferenceComparison as ReferenceComparison
    from cfbench.oracle import NeighbourOracle as NeighbourOracle
    from cfbench.oracle import Oracle as Oracle
    from cfbench.outcome import CounterfactualSet as CounterfactualSet
    from cfbench.outcome import Status as Status
    from cfbench.perturbations import KNeighbours as KNeighbours
    from cfbench.perturbations import k_neighbours as k_neighbours
    from cfbench.perturbations import perturbed_value as perturbed_value
    from cfbench.problem import Problem as Problem
    from cfbench.problem import SearchBudget as SearchBudget
    from cfbench.problem import SeparableTerm as SeparableTerm
    from cfbench.problem import Term as Term
    from cfbench.problem import TrainingFold as TrainingFold
    from cfbench.random_perturbations import PerturbedPart as PerturbedPart
    from cfbench.random_perturbations import RandomPerturbations as RandomPerturbations
    from cfbench.reach import Reach as Reach
    from cfbench.setbacks import Setbacks as Setbacks
    from cfbench.space import CategoricalPerturbation as CategoricalPerturbation
    from cfbench.space import Constraint as Constraint
    from cfbench.space import FeatureSpace as FeatureSpace
    from cfbench.space import FeatureSpec as FeatureSpec
    from cfbench.space import FloatArray as FloatArray
    from cfbench.space import IntArray as IntArray
    from cfbench.space import Kind as Kind
    from cfbench.space import NumericalPerturbation as NumericalPerturbation

_HOME = {
    "api.explain": ["explain"],
    "api.explanation": ["Explanation"],
    "api.study_run": ["StudyResult", "run"],
    "best": ["Best"],
    "contracts": ["DataSource", "FittedModel", "ModelFamily", "Objective", "ObjectiveContext", "Searcher", "Settings"],
    "counter_random": ["descended_key", "uniform_share"],
    "dataset": ["Dataset"],
    "digests": ["digest_of", "digest_of_arrays"],
    "distributions": ["Distribution"],
    "entries": [
        "DatasetEntry",
        "Direction",
        "Handles",
        "MetricEntry",
        "ModelEntry",
        "Need",
        "ObjectiveEntry",
        "SearcherEntry",
    ],
    "errors": [
        "BudgetExhausted",
        "CfbenchError",
        "DataError",
        "ModelError",
        "TrackingError",
        "UnavailableError",
        "UnknownNameError",
    ],
    "events": ["CellFinished", "CellInfo", "CellStarted", "RunFinished", "RunStarted", "SearchFinished"],
    "forests.certificate": ["Certificate", "Settled", "k_certificate"],
    "forests.compiling": ["compiled_or_plain", "inlined_or_plain"],
    "forests.probability": ["Interval", "k_probability"],
    "forests.rehearsal": ["toy_forest"],
    "forests.structure": ["ForestNodes", "ForestStructure", "ShowsForest", "forest_of"],
    "forests.sweeps": ["entered", "leads_along", "leads_of", "leads_of_pair"],
    "forests.walks": ["class_of_cells", "only_side"],
    "harness.again": ["command_again"],
    "harness.caches": ["cache_folder"],
    "harness.kernels": ["Kernels", "compiled"],
    "harness.store.load": ["load_record"],
    "harness.mirrored_record": ["MirrorListing", "MirroredCell"],
    "harness.moved_store": ["follow_moved_store"],
    "harness.run_report": ["RunReport"],
    "harness.store.schema": ["MEASURE_SCHEMA", "SEARCH_SCHEMA"],
    "harness.study": ["Study"],
    "harness.tracking": [
        "CELL_VIEW",
        "CHART_VIEW",
        "SUMMARY_TAG",
        "TABLE_VIEW",
        "VIEW_TAG_PREFIX",
        "shown_address",
        "sqlite_path",
    ],
    "hookspecs": ["hookimpl"],
    "leaderboard": ["Leaderboard", "leaderboard"],
    "metric_contracts": [
        "CellContext",
        "ComparisonMetric",
        "CounterfactualMetric",
        "ObjectiveComparison",
        "ReferenceComparison",
    ],
    "oracle": ["NeighbourOracle", "Oracle"],
    "outcome": ["CounterfactualSet", "Status"],
    "perturbations": ["KNeighbours", "k_neighbours", "perturbed_value"],
    "problem": ["Problem", "SearchBudget", "SeparableTerm", "Term", "TrainingFold"],
    "random_perturbations": ["PerturbedPart", "RandomPerturbations"],
    "reach": ["Reach"],
    "setbacks": ["Setbacks"],
    "space": [
        "CategoricalPerturbation",
        "Constraint",
        "FeatureSpace",
        "FeatureSpec",
        "FloatArray",
        "IntArray",
        "Kind",
        "NumericalPerturbation",
    ],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*sorted(_MODULE_OF), "__version__"]  # noqa: PLE0604 - computed from the table above, which a test checks
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cfbench' has no attribute {name!r}")
    return getattr(importlib.import_module(f"cfbench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
