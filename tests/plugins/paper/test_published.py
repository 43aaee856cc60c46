"""The paper's numbers: complete, and as it prints them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cfbench.space.dataset import N_FOLDS
from cfbench_paper.published import POINTS, block, points_of
from cfbench_paper.tables import DATASETS, MODELS, PARTS, ROBUSTNESS, SEARCHERS, TOLERANCES

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reproduce-the-paper.md"
TOML = ROOT / "plugins" / "cfbench_paper" / "paper.toml"


def test_every_table_is_whole() -> None:
    assert set(block("datasets")) == set(DATASETS)
    for model in MODELS:
        assert all(len(block("accuracy", model)[name]) == N_FOLDS for name in DATASETS)
        assert set(block("accuracy", model, "mean")) == set(DATASETS)
        for searcher in SEARCHERS:
            assert set(DATASETS) <= set(block("success", model, searcher))
        for objective in PARTS:
            for percent in TOLERANCES:
                assert set(DATASETS) <= set(block("accidental", model, objective, str(percent)))
    pairs = {f"{one}-{other}" for i, one in enumerate(ROBUSTNESS) for other in list(ROBUSTNESS)[i + 1 :]}
    assert all(set(block("significance", name, part)) == {*pairs, "points"} for name in DATASETS for part in PARTS)


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("success", "random-forest", "growing-spheres"), "credit", [0.46, 0.11]),
        (("success", "neural-network", "nelder-mead"), "recidivism", [0.51, 0.03]),
        (("accidental", "random-forest", "k", "5"), "income", [0.40, 0.08]),
        (("accidental", "neural-network", "ck", "10"), "housing", [0.93, 0.04]),
        (("accuracy", "random-forest"), "credit", [0.71, 0.78, 0.78, 0.74, 0.76]),
        (("accuracy", "neural-network", "mean"), "productivity", 0.70),
        (("significance", "credit", "k"), "none-c", 0.520),
        (("significance", "housing", "c"), "k-ck", 0.083),
        (("significance", "recidivism", "ck"), "k-ck", 0.271),
        (("datasets", "income"), "rows", 1883),
    ],
)
def test_numbers_as_printed(path: tuple[str, ...], key: str, value: object) -> None:
    assert block(*path)[key] == value


def test_differences_are_those_of_the_documentation() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Where the published experiments differ")[2]
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", section, flags=re.MULTILINE)]
    assert numbers == list(POINTS)
    lists = re.findall(r"^points(?:_on)? = .*\[([\d, ]*)\]", TOML.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {int(number) for text in lists for number in text.split(",") if number} <= set(POINTS)


def test_a_difference_may_concern_one_data_set() -> None:
    numbers = block("success", "random-forest", "dice-b")
    assert points_of(numbers, "productivity") == (7,)
    assert points_of(numbers, "credit") == ()
    assert block("no", "such", "block") == {}
