"""cfbench: benchmarking of counterfactual explanations and of their robustness.

What this module names is the public API; plugins import nothing else of cfbench. Names are loaded when they are first
used, so that ``import cfbench`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfbench.api import StudyResult as StudyResult
    from cfbench.api import run as run
    from cfbench.board.board import Leaderboard as Leaderboard
    from cfbench.board.board import leaderboard as leaderboard
    from cfbench.caches import cache_folder as cache_folder
    from cfbench.compilation import Kernels as Kernels
    from cfbench.compilation import compiled as compiled
    from cfbench.compilation import compiled_or_plain as compiled_or_plain
    from cfbench.compilation import inlined_or_plain as inlined_or_plain
    from cfbench.digests import digest_of as digest_of
    from cfbench.digests import digest_of_arrays as digest_of_arrays
    from cfbench.errors import BudgetExhausted as BudgetExhausted
    from cfbench.errors import CfbenchError as CfbenchError
    from cfbench.errors import DataError as DataError
    from cfbench.errors import ModelError as ModelError
    from cfbench.errors import TrackingError as TrackingError
    from cfbench.errors import UnavailableError as UnavailableError
    from cfbench.errors import UnknownNameError as UnknownNameError
    from cfbench.explaining.explain import explain as explain
    from cfbench.explaining.explanation import Explanation as Explanation
    from cfbench.forests.certificate import Certificate as Certificate
    from cfbench.forests.certificate import Settled as Settled
    from cfbench.forests.certificate import k_certificate as k_certificate
    from cfbench.forests.parting import toy_forest as toy_forest
    from cfbench.forests.probability import Interval as Interval
    from cfbench.forests.probability import k_probability as k_probability
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
    from cfbench.problem.best import Best as Best
    from cfbench.problem.oracle import NeighbourOracle as NeighbourOracle
    from cfbench.problem.oracle import Oracle as Oracle
    from cfbench.problem.outcome import CounterfactualSet as CounterfactualSet
    from cfbench.problem.outcome import Status as Status
    from cfbench.problem.problem import Problem as Problem
    from cfbench.problem.problem import SearchBudget as SearchBudget
    from cfbench.problem.problem import SeparableTerm as SeparableTerm
    from cfbench.problem.problem import Term as Term
    from cfbench.problem.problem import TrainingFold as TrainingFold
    from cfbench.record.frames import MEASURE_SCHEMA as MEASURE_SCHEMA
    from cfbench.record.frames import SEARCH_SCHEMA as SEARCH_SCHEMA
    from cfbench.record.store import load_record as load_record
    from cfbench.registry.contracts import CellContext as CellContext
    from cfbench.registry.contracts import ComparisonMetric as ComparisonMetric
    from cfbench.registry.contracts import CounterfactualMetric as CounterfactualMetric
    from cfbench.registry.contracts import DataSource as DataSource
    from cfbench.registry.contracts import FittedModel as FittedModel
    from cfbench.registry.contracts import ModelFamily as ModelFamily
    from cfbench.registry.contracts import Objective as Objective
    from cfbench.registry.contracts import ObjectiveComparison as ObjectiveComparison
    from cfbench.registry.contracts import ObjectiveContext as ObjectiveContext
    from cfbench.registry.contracts import ReferenceComparison as ReferenceComparison
    from cfbench.registry.contracts import Searcher as Searcher
    from cfbench.registry.contracts import Settings as Settings
    from cfbench.registry.entries import Cost as Cost
    from cfbench.registry.entries import DatasetEntry as DatasetEntry
    from cfbench.registry.entries import Direction as Direction
    from cfbench.registry.entries import Handles as Handles
    from cfbench.registry.entries import MetricEntry as MetricEntry
    from cfbench.registry.entries import ModelEntry as ModelEntry
    from cfbench.registry.entries import Need as Need
    from cfbench.registry.entries import ObjectiveEntry as ObjectiveEntry
    from cfbench.registry.entries import PresetEntry as PresetEntry
    from cfbench.registry.entries import ReportEntry as ReportEntry
    from cfbench.registry.entries import SearcherEntry as SearcherEntry
    from cfbench.registry.events import CellFinished as CellFinished
    from cfbench.registry.events import CellInfo as CellInfo
    from cfbench.registry.events import CellStarted as CellStarted
    from cfbench.registry.events import RunFinished as RunFinished
    from cfbench.registry.events import RunStarted as RunStarted
    from cfbench.registry.events import SearchFinished as SearchFinished
    from cfbench.registry.hookspecs import hookimpl as hookimpl
    from cfbench.robustness.draws import descended_key as descended_key
    from cfbench.robustness.draws import uniform_share as uniform_share
    from cfbench.robustness.neighbours import KNeighbours as KNeighbours
    from cfbench.robustness.neighbours import k_neighbours as k_neighbours
    from cfbench.robustness.neighbours import perturbed_value as perturbed_value
    from cfbench.robustness.random_perturbations import PerturbedPart as PerturbedPart
    from cfbench.robustness.random_perturbations import RandomPerturbations as RandomPerturbations
    from cfbench.robustness.reach import Distribution as Distribution
    from cfbench.robustness.reach import Reach as Reach
    from cfbench.robustness.setbacks import Setbacks as Setbacks
    from cfbench.running.progress import RunReport as RunReport
    from cfbench.space.dataset import Dataset as Dataset
    from cfbench.space.space import CategoricalPerturbation as CategoricalPerturbation
    from cfbench.space.space import Constraint as Constraint
    from cfbench.space.space import FeatureSpace as FeatureSpace
    from cfbench.space.space import FeatureSpec as FeatureSpec
    from cfbench.space.space import FloatArray as FloatArray
    from cfbench.space.space import IntArray as IntArray
    from cfbench.space.space import Kind as Kind
    from cfbench.space.space import NumericalPerturbation as NumericalPerturbation
    from cfbench.study.plan import command_again as command_again
    from cfbench.study.study import Study as Study
    from cfbench.tracking.addresses import CELL_VIEW as CELL_VIEW
    from cfbench.tracking.addresses import CHART_VIEW as CHART_VIEW
    from cfbench.tracking.addresses import SUMMARY_TAG as SUMMARY_TAG
    from cfbench.tracking.addresses import TABLE_VIEW as TABLE_VIEW
    from cfbench.tracking.addresses import VIEW_TAG_PREFIX as VIEW_TAG_PREFIX
    from cfbench.tracking.addresses import shown_address as shown_address
    from cfbench.tracking.addresses import sqlite_path as sqlite_path
    from cfbench.tracking.mirror import MirroredCell as MirroredCell
    from cfbench.tracking.mirror import MirrorListing as MirrorListing

_HOME = {
    "api": ["StudyResult", "run"],
    "board.board": ["Leaderboard", "leaderboard"],
    "caches": ["cache_folder"],
    "compilation": ["Kernels", "compiled", "compiled_or_plain", "inlined_or_plain"],
    "digests": ["digest_of", "digest_of_arrays"],
    "errors": [
        "BudgetExhausted",
        "CfbenchError",
        "DataError",
        "ModelError",
        "TrackingError",
        "UnavailableError",
        "UnknownNameError",
    ],
    "explaining.explain": ["explain"],
    "explaining.explanation": ["Explanation"],
    "forests.certificate": ["Certificate", "Settled", "k_certificate"],
    "forests.parting": ["toy_forest"],
    "forests.probability": ["Interval", "k_probability"],
    "forests.structure": ["ForestNodes", "ForestStructure", "ShowsForest", "forest_of"],
    "forests.sweeps": ["entered", "leads_along", "leads_of", "leads_of_pair"],
    "forests.walks": ["class_of_cells", "only_side"],
    "problem.best": ["Best"],
    "problem.oracle": ["NeighbourOracle", "Oracle"],
    "problem.outcome": ["CounterfactualSet", "Status"],
    "problem.problem": ["Problem", "SearchBudget", "SeparableTerm", "Term", "TrainingFold"],
    "record.frames": ["MEASURE_SCHEMA", "SEARCH_SCHEMA"],
    "record.store": ["load_record"],
    "registry.contracts": [
        "CellContext",
        "ComparisonMetric",
        "CounterfactualMetric",
        "DataSource",
        "FittedModel",
        "ModelFamily",
        "Objective",
        "ObjectiveComparison",
        "ObjectiveContext",
        "ReferenceComparison",
        "Searcher",
        "Settings",
    ],
    "registry.entries": [
        "Cost",
        "DatasetEntry",
        "Direction",
        "Handles",
        "MetricEntry",
        "ModelEntry",
        "Need",
        "ObjectiveEntry",
        "PresetEntry",
        "ReportEntry",
        "SearcherEntry",
    ],
    "registry.events": ["CellFinished", "CellInfo", "CellStarted", "RunFinished", "RunStarted", "SearchFinished"],
    "registry.hookspecs": ["hookimpl"],
    "robustness.draws": ["descended_key", "uniform_share"],
    "robustness.neighbours": ["KNeighbours", "k_neighbours", "perturbed_value"],
    "robustness.random_perturbations": ["PerturbedPart", "RandomPerturbations"],
    "robustness.reach": ["Distribution", "Reach"],
    "robustness.setbacks": ["Setbacks"],
    "running.progress": ["RunReport"],
    "space.dataset": ["Dataset"],
    "space.space": [
        "CategoricalPerturbation",
        "Constraint",
        "FeatureSpace",
        "FeatureSpec",
        "FloatArray",
        "IntArray",
        "Kind",
        "NumericalPerturbation",
    ],
    "study.plan": ["command_again"],
    "study.study": ["Study"],
    "tracking.addresses": [
        "CELL_VIEW",
        "CHART_VIEW",
        "SUMMARY_TAG",
        "TABLE_VIEW",
        "VIEW_TAG_PREFIX",
        "shown_address",
        "sqlite_path",
    ],
    "tracking.mirror": ["MirrorListing", "MirroredCell"],
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
