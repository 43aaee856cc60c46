"""Which cells of a record the paper's comparison is about; what is never averaged together stays apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cfbench.digests import digest_of
from cfbench.harness.presets import PAPER_OBJECTIVES, PAPER_SAMPLES
from cfbench.harness.store.summary import CellSummary
from cfbench.report.names import DATASETS, EXACT, MODELS, SEARCHER, SEARCHERS

Place = tuple[str, str, str, str, bool, int]
"""Data set, model, searcher, objective, constraints, fold."""

_AXES = ("dataset", "model", "searcher", "objective", "constraints", "fold")


@dataclass(frozen=True, eq=False)
class Selection:
    """The cells of the paper's matrix that a record holds.

    Parameters
    ----------
    cells : mapping of Place to CellSummary
        With results.
    without_results : mapping of Place to str
        Cells that were skipped or failed before they had any, and why.
    passed_over : int
        Cells with results that are not the paper's: other data sets, searchers, settings.
    exact : tuple of CellSummary
        Cells of the searcher that proves optima, for the loss alone: no part of the paper's experiments, and no cell
        of the comparison.
    other_setups : int
        Cells of the paper's matrix that were left out because most others have another seed, budget, or version.
    """

    cells: Mapping[Place, CellSummary]
    without_results: Mapping[Place, str]
    passed_over: int
    other_setups: int
    exact: tuple[CellSummary, ...] = ()

    @property
    def robust(self) -> list[CellSummary]:
        """The cells of the experiments on robustness: constraints on."""
        return [cell for cell in self.cells.values() if cell.info.constraints]

    @property
    def searching(self) -> list[CellSummary]:
        """The cells of the comparison of searchers: constraints off."""
        return [cell for cell in self.cells.values() if not cell.info.constraints]

    @property
    def folds(self) -> tuple[int, ...]:
        """The folds that have results."""
        return tuple(sorted({cell.info.fold for cell in self.cells.values()}))


def place_of(cell: CellSummary) -> Place:
    """Return the coordinates of a cell."""
    info = cell.info
    return info.dataset, info.model, info.searcher, info.objective, info.constraints, info.fold


def in_matrix(place: Place) -> bool:
    """Return whether the paper's experiments have a cell, whatever the fold."""
    dataset, model, searcher, objective, constraints, _ = place
    if dataset not in DATASETS or model not in MODELS:
        return False
    if constraints:
        return searcher == SEARCHER and objective in (*PAPER_OBJECTIVES, *PAPER_SAMPLES)
    return searcher in SEARCHERS and objective == "none"


def select(summaries: Iterable[CellSummary]) -> Selection:
    """Choose the paper's cells.

    Where several cells have the same coordinates (another seed, budget, version or table), those are chosen that share
    theirs with the most other cells.
    """
    inside: list[CellSummary] = []
    without_results: dict[Place, str] = {}
    exact: list[CellSummary] = []
    passed_over = 0
    for cell in summaries:
        if cell.info.searcher == EXACT and cell.info.objective == "none" and cell.info.dataset in DATASETS:
            exact.append(cell)
        elif not in_matrix(place_of(cell)):
            passed_over += bool(cell.searches)
        elif cell.searches:
            inside.append(cell)
        else:
            without_results[place_of(cell)] = cell.failure or cell.skipped or "no point of the fold is eligible"
    chosen = inside
    for group, setup in _SETUPS:
        chosen = _most_common(chosen, group, setup)
    cells = {place_of(cell): cell for cell in chosen}
    return Selection(
        cells=dict(sorted(cells.items(), key=lambda item: _position(item[0]))),
        without_results={place: why for place, why in without_results.items() if place not in cells},
        passed_over=passed_over,
        other_setups=len(inside) - len(chosen),
        exact=tuple(exact),
    )


def _most_common(
    cells: list[CellSummary], group: Callable[[CellSummary], str], setup: Callable[[CellSummary], str]
) -> list[CellSummary]:
    """Keep the cells of the most common setup of their group; of equally common ones that of the smallest digest."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cell in cells:
        counts[group(cell)][setup(cell)] += 1
    kept = {name: min(counter, key=lambda one: (-counter[one], one)) for name, counter in counts.items()}
    return [cell for cell in cells if setup(cell) == kept[group(cell)]]


def _study(cell: CellSummary) -> str:
    """Return the digest of what a study sets for all its cells: protocol, seed, time limit, steps."""
    return digest_of({key: value for key, value in cell.content.items() if key not in (*_AXES, "query_budget")})


def _budget(cell: CellSummary) -> str:
    return digest_of(cell.content["query_budget"])


def _part(axis: str) -> tuple[Callable[[CellSummary], str], Callable[[CellSummary], str]]:
    """Return what tells versions and tables of equally named parts of a cell apart."""
    return (lambda cell: str(getattr(cell.info, axis))), (lambda cell: digest_of(cell.content[axis]))


_SETUPS: Sequence[tuple[Callable[[CellSummary], str], Callable[[CellSummary], str]]] = (
    (lambda _: "", _study),
    (lambda cell: cell.info.searcher, _budget),  # searchers have default budgets of their own
    *(_part(axis) for axis in ("dataset", "model", "searcher", "objective")),
)


def _position(place: Place) -> tuple[int, int, int, str, bool, int]:
    dataset, model, searcher, objective, constraints, fold = place
    orders = ((*DATASETS,).index(dataset), (*MODELS,).index(model), (*SEARCHERS,).index(searcher))
    return (*orders, objective, constraints, fold)
