"""The committed table of tuned hyper-parameters fits the data sets, the models and the grids as they are now.

Nothing is tuned here. After a change of a data set or of a grid, `cfbench tune --output` makes the missing rows.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

from cfbench import Dataset, DataSource, ModelEntry
from cfbench.errors import UnavailableError
from cfbench.registry.registry import build_registry
from cfbench.running.fitted import TunedRow, read_table, tuning_key
from cfbench.space.dataset import N_FOLDS, split
from cfbench_models.plugin import TUNED, cfbench_register_models

DATASETS = ("credit", "income", "housing", "productivity", "recidivism", "wine")
MODELS = {entry.name: entry for entry in cfbench_register_models()}
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
SHARED_DATA = Path(__file__).parents[2] / ".." / "shared" / "data"

each_dataset = pytest.mark.parametrize("name", DATASETS)


@cache
def dataset(name: str) -> Dataset:
    """Load a data set without the network; productivity is not shipped."""
    folders = (Path(os.environ.get("CFBENCH_DATA_DIR", SHARED_DATA)).resolve(),)
    source = DataSource(data_dirs=folders, cache_dir=Path("no-cache"), download=False)
    try:
        return build_registry().dataset(name).entry.load(source)
    except UnavailableError as error:
        if name != "productivity":
            raise
        pytest.skip(f"productivity is not shipped: {error}")


def key(name: str, model: ModelEntry, fold: int) -> str:
    return tuning_key(dataset(name), fold, model, model.family())


@pytest.fixture(scope="module")
def table() -> dict[str, TunedRow]:
    return read_table(TUNED)


@each_dataset
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_fold_is_tuned(name: str, model: ModelEntry, table: dict[str, TunedRow]) -> None:
    for fold in range(N_FOLDS):
        row = table[key(name, model, fold)]
        assert (row.model, row.dataset, row.fold) == (model.name, name, fold)


@each_dataset
def test_every_row_is_of_the_data_and_the_grid_that_we_have(name: str, table: dict[str, TunedRow]) -> None:
    rows = [row for row in table.values() if row.dataset == name]
    for row in rows:
        entry = MODELS[row.model]
        assert row.key == key(name, entry, row.fold)
        grid = entry.family().grid()
        assert row.hyperparameters.keys() == grid.keys()
        assert all(value in grid[setting] for setting, value in row.hyperparameters.items())
        largest_class = max(dataset(name).class_counts) / dataset(name).n
        assert largest_class < row.cv_accuracy <= 1
        assert 0 < row.test_accuracy <= 1
    assert len({(row.model, row.fold) for row in rows}) == len(rows)


def test_the_table_names_no_other_data_set_or_model(table: dict[str, TunedRow]) -> None:
    assert {row.dataset for row in table.values()} <= set(DATASETS)
    assert {row.model for row in table.values()} <= set(MODELS)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_fitted_with_its_row_is_as_accurate_as_the_row_says(
    model: ModelEntry, table: dict[str, TunedRow]
) -> None:
    wine = dataset("wine")
    rows, row = split(wine, 0), table[key("wine", model, 0)]
    fitted = model.family().fit(wine.X[rows.train], wine.y[rows.train], wine.space, row.hyperparameters)
    accuracy = (fitted.predict(wine.X[rows.test]) == wine.y[rows.test]).mean()
    # training may differ between machines in the last bits: one of the 36 points may fall on the other side
    assert accuracy == pytest.approx(row.test_accuracy, abs=1.01 / 36)


def test_the_page_shows_the_accuracies_of_the_table(table: dict[str, TunedRow]) -> None:
    block = PAGE.read_text(encoding="utf-8").partition("<!-- accuracies -->")[2].partition("<!-- end of")[0]
    head, _, guesses, *lines = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in block.split("\n") if line
    ]
    shown = {(line[0], name): cell for line in lines for name, cell in zip(head[1:], line[1:], strict=True)}
    assert sorted(shown) == sorted((model, name) for model in MODELS for name in DATASETS)
    for (model, name), cell in shown.items():
        found = [100 * row.test_accuracy for row in table.values() if (row.model, row.dataset) == (model, name)]
        mean, low, high = map(float, re.findall(r"[\d.]+", cell))
        assert mean == pytest.approx(sum(found) / N_FOLDS, abs=0.051)
        assert low == pytest.approx(min(found), abs=0.51)
        assert high == pytest.approx(max(found), abs=0.51)
        assert float(guesses[head.index(name)].partition(" ")[0]) < mean
