"""The recipe of the shipped tables: each step on rows made by hand, and the tables' recorded digests."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DATASETS = Path(__file__).parents[3] / "datasets"


@pytest.fixture(scope="module")
def build() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("cfbench_build_tables", DATASETS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("name", ["credit", "income", "housing", "recidivism"])
def test_the_tables_are_the_recorded_ones(name: str) -> None:
    recorded = json.loads((DATASETS / "facts" / "tables.json").read_text("utf-8"))
    content = (DATASETS / "cfbench_datasets" / name / "data.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == recorded[name]


def test_credit_codes_lose_their_prefix_and_three_are_reversed(build: ModuleType) -> None:
    line = "A14 24 A30 A410 2500 A62 A71 3 A92 A103 2 A124 40 A141 A153 1 A174 2 A191 A202 2"
    expected = "4 24 0 10 2500 2 1 3 2 3 2 4 40 1 3 1 4 1 1 1 0"
    assert build.recode_credit(line.split()) == expected.split()


def test_corrections_replace_the_cell_that_they_name(build: ModuleType) -> None:
    rows = [["1", "2"], ["3", "4"]]
    build.correct(rows, ["a", "b"], [{"row": 1, "column": "b", "statlog": 4, "south_german": 5}])
    assert rows == [["1", "2"], ["3", "5"]]


def test_a_correction_of_another_value_stops_the_build(build: ModuleType) -> None:
    with pytest.raises(SystemExit, match="row 0, a: expected 7 to correct, got 1"):
        build.correct([["1"]], ["a"], [{"row": 0, "column": "a", "statlog": 7, "south_german": 5}])


def test_the_published_corrections_are_56_different_cells() -> None:
    corrections = json.loads((DATASETS / "facts" / "credit_corrections.json").read_text("utf-8"))
    assert len({(correction["row"], correction["column"]) for correction in corrections}) == len(corrections) == 56
    assert all(correction["statlog"] != correction["south_german"] for correction in corrections)


COMPAS = {
    "age": "34",
    "sex": "Male",
    "race": "Other",
    "priors_count": "0",
    "days_b_screening_arrest": "-1.0",
    "c_charge_degree": "F",
    "is_recid": "1",
    "is_violent_recid": "0",
    "two_year_recid": "1",
    "c_jail_in": "2013-01-26 03:45:27",
    "c_jail_out": "2013-02-05 05:36:53",
    "decile_score": "7",
}


@pytest.mark.parametrize(
    ("changes", "stay", "label"),
    [
        ({}, "10", "1"),
        ({"decile_score": "6"}, "10", "0"),
        ({"c_jail_out": "2013-01-27 03:45:26"}, "0", "1"),  # a second less than a day
        ({"c_jail_out": "2013-01-26 02:45:27"}, "1", "1"),  # an hour backwards: day -1
    ],
)
def test_compas_features_are_derived(build: ModuleType, changes: dict[str, str], stay: str, label: str) -> None:
    row = build.derive_compas(COMPAS | changes)
    assert row == ["34", "Male", "Other", "0", "1", "F", "1", "0", "1", stay, label]


@pytest.mark.parametrize("gap", ["days_b_screening_arrest", "c_jail_in", "c_jail_out", "decile_score"])
def test_compas_rows_with_a_gap_are_dropped(build: ModuleType, gap: str) -> None:
    assert build.derive_compas(COMPAS | {gap: ""}) is None


def test_of_two_columns_of_one_name_the_first_counts(build: ModuleType) -> None:
    names = [*COMPAS, "decile_score", "name"]
    lines = [names, [*COMPAS.values(), "1", "somebody"]]
    header, row = build.recidivism("\n".join(",".join(line) for line in lines))
    assert header[-1] == "high_risk"
    assert row[-1] == "1"
    assert "somebody" not in row


def test_wheels_and_members_are_checked(build: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a/b.csv", "content")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    content = hashlib.sha256(b"content").hexdigest()
    assert build.read_member(tmp_path, build.Member("some", "some.whl", sha256, "a/b.csv", content)) == "content"
    with pytest.raises(SystemExit, match=r"some\.whl: sha256 .* expected 0"):
        build.read_member(tmp_path, build.Member("some", "some.whl", "0", "a/b.csv", content))
    with pytest.raises(SystemExit, match=r"a/b\.csv: sha256 .* expected 0"):
        build.read_member(tmp_path, build.Member("some", "some.whl", sha256, "a/b.csv", "0"))
