"""The results of a record that the paper's statements are about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cfbench import Dataset
from cfbench.analysis import PointResults, ReportContext, compare_cells
from cfbench.digests import digest_of
from cfbench.errors import UnavailableError
from cfbench.record import CellSummary
from cfbench.space import FloatArray
from cfbench_paper.presets import OBJECTIVES, REFERENCE, SAMPLES
from cfbench_paper.tables import DATASETS, DISTRIBUTIONS, EXACT, MODELS, PARTS, SEARCHERS, TOLERANCES

Place = tuple[str, str, str, str, bool, int]
"""Data set, model, searcher, objective, constraints, fold."""

_AXES = ("dataset", "model", "searcher", "objective", "constraints", "fold")


@dataclass(frozen=True, eq=False)
class PaperCells:
    """The cells of the paper's matrix that a record holds."""

    cells: Mapping[Place, CellSummary]  # with results
    without_results: Mapping[Place, str]  # cells that were skipped or failed before they had any, and why
    passed_over: int  # cells with results that are not the paper's: other data sets, searchers, settings
    # Cells of the paper's matrix that were left out because most others have another seed, budget, or version.
    other_setups: int
    # Cells of the searcher that proves optima, for the loss alone: no part of the paper's experiments, and no
    # cell of the comparison.
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
        return searcher == REFERENCE and objective in (*OBJECTIVES, *SAMPLES)
    return searcher in SEARCHERS and objective == "none"


def select(summaries: Iterable[CellSummary]) -> PaperCells:
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
    return PaperCells(
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


MEASURED: Mapping[str, str] = {
    "k-robustness": "k-robustness",
    **{
        f"{name}/{part}/{distribution}": f"{name}[part={part},distribution={distribution}]"
        for name in ("invalidity", "fixability")
        for part in PARTS
        for distribution in DISTRIBUTIONS
    },
}
"""Columns of values about single results, with the metrics that they come from."""

COMPARED: Mapping[str, str] = {
    "cost-of-robustness": "cost-of-robustness",
    "time-of-robustness": "time-of-robustness",
    **{f"accidental/{percent}": f"accidental-robustness[tolerance={percent / 100}]" for percent in TOLERANCES},
    **{
        f"accidental-text/{percent}": f"accidental-robustness[tolerance={percent / 100},same_changes=false]"
        for percent in TOLERANCES
    },
    **{
        f"{name}/{part}/{distribution}": f"{name}[part={part},distribution={distribution}]"
        for name in ("relative-cost", "relative-cost-published")
        for part in PARTS
        for distribution in DISTRIBUTIONS
    },
}
"""Columns of values that compare with the result under objective ``none``, with the metrics that they come from."""


NEEDED = (*MEASURED.values(), *COMPARED.values())
"""All metrics that the report is made of."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a record says."""

    selection: PaperCells
    # A row for each point of a cell with constraints on: `dataset`, `model`, `objective` (label), `robustness`
    # (none, c, k, ck), `m`, `fold`, `row_id`, `found`, `loss`, `seconds`, `cpu_seconds`, `queries`, and the
    # columns of ``MEASURED`` and ``COMPARED``, NaN where there is no value. A point's result is the best of the
    # repetitions that all these cells have.
    robust: pd.DataFrame
    # A row for each point of a cell with constraints off: `dataset`, `model`, `searcher`, `fold`, `row_id`,
    # `found`, `loss`. A point's result is the best of the repetitions that all cells of the searcher have.
    searching: pd.DataFrame
    optimum: pd.DataFrame  # CoGS next to the proven optimum, as `gap_rows` returns it
    # Wall-clock seconds of every search with constraints off, by data set, model and searcher.
    seconds: Mapping[tuple[str, str, str], FloatArray]
    unmeasured: Counter[str]  # metrics that cells with constraints on lack, with the number of these cells
    complaints: Counter[str]  # what could not be compared


def gather(context: ReportContext, datasets: Mapping[str, Dataset]) -> Evidence:
    """Read a record.

    `datasets`: those at hand, by name: distances are measured in their spaces.
    """
    selection = select(context.record.summaries().values())
    repetitions = shared_repetitions(selection)

    def dataset(name: str) -> Dataset:
        if name not in datasets:
            raise UnavailableError("its table was not found")
        return datasets[name]

    results = PointResults(context.record, context.registry, repetitions, dataset=dataset)
    robust = selection.robust
    frames = [_robust_rows(cell, results) for cell in robust]
    table = (
        pd.concat(frames, ignore_index=True)
        if frames
        else pd.DataFrame(columns=_robust_columns()).astype({"row_id": "int64"})
    )
    compared, complaints = _compared(context, robust, results)
    seconds: dict[tuple[str, str, str], list[FloatArray]] = {}
    for cell in selection.searching:
        place = (cell.info.dataset, cell.info.model, cell.info.searcher)
        seconds.setdefault(place, []).append(results.seconds(cell))
    points = [_rows(cell, results).assign(searcher=cell.info.searcher) for cell in selection.searching]
    columns = ["dataset", "model", "searcher", "fold", "row_id", "found", "loss"]
    return Evidence(
        selection=selection,
        robust=table.merge(compared, on=["cell_key", "row_id"], how="left", validate="one_to_one"),
        searching=(pd.concat(points, ignore_index=True) if points else pd.DataFrame(columns=columns))[columns],
        optimum=gap_rows(context, selection),
        seconds={place: np.concatenate(parts) for place, parts in seconds.items()},
        unmeasured=context.unmeasured(NEEDED, robust),
        complaints=complaints,
    )


def shared_repetitions(selection: PaperCells) -> dict[str, range]:
    """Return by cell key the repetitions that all cells of its searcher, with constraints or without, have.

    The best of five is better than one search: a cell with more repetitions would look better than the others.
    """
    found: dict[str, range] = {}
    for cells in (selection.robust, selection.searching):
        for searcher in {cell.info.searcher for cell in cells}:
            mine = [cell for cell in cells if cell.info.searcher == searcher]
            fewest = min(cell.repetitions for cell in mine)
            found |= {cell.info.key: range(fewest) for cell in mine}
    return found


def gap_rows(context: ReportContext, selection: PaperCells) -> pd.DataFrame:
    """Compare each search of CoGS, and the best of a point's searches, with the proven optimum.

    Columns: `dataset`, `constraints`, `fold`, `row_id`, `searches` (how many the value is the best of), `of` (how many
    the point has), `gap` (relative to the optimum); a row for each search and one for the best of all.
    """
    record, registry, metric = context.record, context.registry, context.metric("optimality-gap")
    cells = [cell for cell in selection.cells.values() if cell.info.searcher == REFERENCE]
    frames = []
    for cell in (cell for cell in cells if cell.info.objective == "none"):
        place = cell.info.dataset, cell.info.model, cell.info.fold
        exact = [one for one in selection.exact if (one.info.dataset, one.info.model, one.info.fold) == place]
        alone = [range(one, one + 1) for one in range(cell.repetitions)]
        for chosen in dict.fromkeys((*alone, range(cell.repetitions))) if exact else ():
            results = PointResults(record, registry, {cell.info.key: chosen})
            found = compare_cells(record, registry, [metric], cells=[cell, *exact], results=results).table
            mine = found[found["cell_key"] == cell.info.key]
            frames.append(mine.assign(searches=len(chosen), of=cell.repetitions, gap=mine["value"]))
    columns = ["dataset", "constraints", "fold", "row_id", "searches", "of", "gap"]
    return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)


def _rows(cell: CellSummary, results: PointResults) -> pd.DataFrame:
    """Return the results of a cell with its coordinates."""
    info = cell.info
    found = results.found(cell)
    best = {"row_id": found.row_ids, "found": found.is_found}
    best |= {name: getattr(found, name) for name in ("loss", "seconds", "queries", "cpu_seconds")}
    return pd.DataFrame(best).assign(cell_key=info.key, dataset=info.dataset, model=info.model, fold=info.fold)


def _robust_rows(cell: CellSummary, results: PointResults) -> pd.DataFrame:
    rows = _rows(cell, results)
    objective = cell.content["objective"]
    values = {column: results.measured(cell, metric) for column, metric in MEASURED.items()}
    return rows.assign(
        objective=cell.info.objective,
        robustness=objective["name"],
        m=int(objective["settings"].get("m", 0)),
        **{column: np.nan if found is None else found for column, found in values.items()},
    )


def _robust_columns() -> list[str]:
    own = ["row_id", "found", "loss", "seconds", "queries", "cpu_seconds", "cell_key", "dataset", "model", "fold"]
    return [*own, "objective", "robustness", "m", *MEASURED]


def _compared(
    context: ReportContext, cells: Iterable[CellSummary], results: PointResults
) -> tuple[pd.DataFrame, Counter[str]]:
    """Return the values that compare with objective none, a column per metric."""
    variants = {column: context.metric(text) for column, text in COMPARED.items()}
    found = compare_cells(context.record, context.registry, list(variants.values()), cells=cells, results=results)
    wide = found.table.pivot_table(index=["cell_key", "row_id"], columns="metric", values="value", aggfunc="first")
    wide = wide.reindex(columns=[variant.label for variant in variants.values()]).astype("float64")
    wide.columns = pd.Index(list(variants))
    return wide.reset_index(), found.complaints
