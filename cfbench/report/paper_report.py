"""The whole comparison with the paper: sections of tables and figures, in the paper's order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfbench.contracts import DataSource
from cfbench.dataset import Dataset
from cfbench.errors import CfbenchError, RecordError
from cfbench.harness.fitted import FittedModels
from cfbench.harness.sources import load_dataset
from cfbench.harness.store.record import Record
from cfbench.registry import Registry
from cfbench.report.accident_table import accident_table
from cfbench.report.accuracy_tables import Accuracies, accuracy_table, tuned_table
from cfbench.report.canvas import Figure
from cfbench.report.claims import Claim, claims_table, local_claims_table
from cfbench.report.cost_boxes import added_cost, cost_of_robustness, relative_cost, relative_cost_table
from cfbench.report.dataset_tables import datasets_table, perturbations_table
from cfbench.report.evidence import Evidence, gather
from cfbench.report.gap_table import gap_table
from cfbench.report.gaps import Gaps, first_commands, gaps
from cfbench.report.heat_maps import fixability, invalidity
from cfbench.report.names import DATASETS, DISTRIBUTIONS, MODELS
from cfbench.report.paper_claims import claims
from cfbench.report.sample_curves import added_time, k_score
from cfbench.report.search_figures import relative_loss, run_times
from cfbench.report.search_tables import searchers_table, success_table
from cfbench.report.settings_tables import grids, searcher_settings
from cfbench.report.significance_tables import significance_table
from cfbench.report.tables import Table


@dataclass(frozen=True)
class Section:
    """Tables and figures on one matter.

    Parameters
    ----------
    name : str
        Its anchor.
    title, lead : str
    items : tuple of Table or Figure
    """

    name: str
    title: str
    lead: str
    items: tuple[Table | Figure, ...]


@dataclass(frozen=True)
class Report:
    """The comparison.

    Parameters
    ----------
    record : str
        What the record is called.
    claims : tuple of Claim
    sections : tuple of Section
    gaps : Gaps
    problems : tuple of str
        What could not be read or compared.
    """

    record: str
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    gaps: Gaps
    problems: tuple[str, ...]


def make_report(
    record: Record, registry: Registry, source: DataSource, models: FittedModels, command: str = "cfbench"
) -> Report:
    """Compare a record with the paper; nothing is searched, measured or fitted.

    Parameters
    ----------
    record : Record
    registry : Registry
    source : DataSource
        Where tables may be found.
    models : FittedModels
        Where tuned settings and their accuracies are kept.
    command : str
        How the user calls cfbench, for hints.

    Raises
    ------
    RecordError
        If the record holds no cell of the paper's experiments; the message has the command that makes some.
    """
    datasets, problems = _at_hand(registry, source)
    evidence = gather(record, registry, datasets)
    if not evidence.selection.cells:
        raise _nothing(record.origin, evidence, command)
    accuracies = Accuracies(registry, models, datasets)
    found = claims(evidence.robust)
    complaints = [
        f"{text} (in {count} cells)" for text, count in evidence.complaints.items() if "not measured" not in text
    ]
    return Report(
        record=str(record.origin),
        claims=tuple(found),
        sections=(_verdicts(found), *_sections(registry, datasets, accuracies, evidence)),
        gaps=gaps(evidence, record.origin, command),
        problems=(*record.problems, *problems, *complaints),
    )


def _verdicts(found: list[Claim]) -> Section:
    return Section("claims", "What holds here", "", (claims_table(found), local_claims_table(found)))


def _sections(
    registry: Registry, datasets: Mapping[str, Dataset], accuracies: Accuracies, evidence: Evidence
) -> Iterator[Section]:
    robust, searching = evidence.robust, evidence.searching
    yield Section(
        "accident",
        "Question 1: is robustness found by accident?",
        "",
        (accident_table(robust), accident_table(robust, same_changes=False)),
    )
    yield Section(
        "correction",
        "Question 2: can perturbations be corrected?",
        "The column C, K has no counterpart in the paper, which takes it to equal K: a draw that K alone survives "
        "may be invalidated together with a setback, and then K has to be walked back as well.",
        tuple(fixability(robust, model) for model in MODELS),
    )
    yield Section(
        "cost",
        "Question 3: what do perturbations cost?",
        "The same costs twice: as the text defines them, and in the reading of the published experiments.",
        (
            relative_cost_table(robust),
            *(relative_cost(robust, model, one) for model in MODELS for one in DISTRIBUTIONS),
            *(relative_cost(robust, model, one, published=True) for model in MODELS for one in DISTRIBUTIONS),
            *(cost_of_robustness(robust, model) for model in MODELS),
        ),
    )
    yield Section("invalidity", "Invalidity", "", tuple(invalidity(robust, model) for model in MODELS))
    yield Section(
        "samples",
        "How many samples does K need?",
        "",
        tuple(draw(robust, model) for draw in (k_score, added_time, added_cost) for model in MODELS),
    )
    yield Section(
        "significance",
        "Significance",
        "",
        tuple(significance_table(robust, dataset) for dataset in DATASETS),
    )
    yield Section(
        "searchers",
        "Which searcher?",
        "Constraints off, the loss alone; LORE with fewer points and repetitions in the paper.",
        (
            success_table(searching),
            *(run_times(evidence.seconds, model) for model in MODELS),
            *(relative_loss(searching, model) for model in MODELS),
            *((searchers_table(searching),) if len(searching) else ()),
            *((gap_table(evidence.optimum),) if len(evidence.optimum) else ()),
        ),
    )
    yield Section(
        "setup",
        "Data sets, models, settings",
        "",
        (
            datasets_table(datasets, accuracies),
            perturbations_table(datasets),
            searcher_settings(registry),
            grids(registry),
            *(table(model, accuracies) for model in MODELS for table in (accuracy_table, tuned_table)),
        ),
    )


def _at_hand(registry: Registry, source: DataSource) -> tuple[dict[str, Dataset], list[str]]:
    datasets, problems = {}, []
    for name in DATASETS:
        try:
            datasets[name] = load_dataset(registry.dataset(name).entry, source)
        except CfbenchError as error:
            problems.append(f"data set {name} is not at hand, and what needs its table is absent: {error}")
    return datasets, problems


def _nothing(results: Path, evidence: Evidence, command: str) -> RecordError:
    others = evidence.selection.passed_over
    held = f", though {others} of others, which `{command} leaderboard` shows" if others else ""
    failed = len(evidence.selection.without_results)
    failures = f" {failed} of them failed or were skipped." if failed else ""
    return RecordError(
        f"{results} holds no finished cell of the paper's experiments{held}.{failures} "
        f"{first_commands(results, command)}"
    )
