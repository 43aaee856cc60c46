"""Tables of results that were made elsewhere: what is read, and what is refused with file, line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfbench.errors import DataError
from cfbench.running.results_file import GivenResult, read_results, results_of_frames, template
from cfbench.space.space import FeatureSpace, FeatureSpec, Kind

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 20),
        FeatureSpec("hours per week", Kind.NUMERICAL, 0, 80, step=1),
        FeatureSpec("smokes", Kind.CATEGORICAL, 0, 1, categories=("false", "true")),
        FeatureSpec("zone", Kind.CATEGORICAL, 0, 2, categories=("1", "01", "NA")),
    )
)
WIDE = "factual.size,factual.hours per week,factual.smokes,factual.zone"
WIDE += ",counterfactual.size,counterfactual.hours per week,counterfactual.smokes,counterfactual.zone"
LONG = "case,role,size,hours per week,smokes,zone"


def read(tmp_path: Path, text: str) -> list[GivenResult]:
    path = tmp_path / "results.csv"
    path.write_bytes(text.encode("utf-8"))
    return read_results(path, SPACE)


def as_lists(results: list[GivenResult]) -> list[tuple[list[float], list[float] | None]]:
    return [(one.x.tolist(), None if one.z is None else one.z.tolist()) for one in results]


def test_a_wide_table(tmp_path: Path) -> None:
    first, second = read(
        tmp_path,
        f"row,{WIDE},seconds,queries,repetition\n7,9.5,40,false,1,12,40,false,01,0.25,1200,0\n7,9.5,40,false,1,,,,,,,1\n",
    )
    assert (first.place, first.row, first.repetition, first.seconds, first.queries) == ("line 2", 7, 0, 0.25, 1200)
    assert as_lists([first]) == [([9.5, 40, 0, 0], [12, 40, 0, 1])]
    assert (second.z, second.repetition, second.seconds, second.queries) == (None, 1, None, None)


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_a_table_that_r_wrote(tmp_path: Path, separator: str) -> None:
    names = [f'"{name.replace(" ", ".")}"' for name in WIDE.split(",")]
    comma = "." if separator == "," else ","
    line = ['"1"', f"9{comma}5", "40", "FALSE", '"1"', f"1{comma}2e+01", "40", "TRUE", '"01"']
    with_names = separator.join(['""', *names]) + "\r\n" + separator.join(line) + "\r\n"
    expected = [([9.5, 40, 0, 0], [12, 40, 1, 1])]
    assert as_lists(read(tmp_path, with_names)) == expected
    of_write_table = separator.join(names) + "\n" + separator.join(line) + "\n"
    assert as_lists(read(tmp_path, of_write_table)) == expected
    without_names = separator.join(names) + "\n" + separator.join(line[1:]) + "\n"
    assert as_lists(read(tmp_path, without_names)) == expected


def test_a_missing_value_is_not_a_category_of_that_name(tmp_path: Path) -> None:
    """In a file of R, NA is missing; here it is also a category."""
    nothing, partly = read(tmp_path, f"{WIDE}\n9.5,40,false,NA,NA,NA,NA,\n9.5,40,false,1,NA,40,true,NA\n")
    assert nothing.x.tolist() == [9.5, 40, 0, 2]
    assert nothing.z is None
    assert partly.objection == "size has no value"
    assert partly.z is not None
    assert partly.z[3] == 2


def test_what_cannot_be_read_of_a_counterfactual_is_kept_with_it(tmp_path: Path) -> None:
    (one,) = read(tmp_path, f"{WIDE}\n9.5,40,false,1,many,40,maybe,1.0\n")
    assert one.objection == "size = 'many' is not a number; smokes = 'maybe' is not one of its categories"
    assert one.unread == ""
    assert one.z is not None
    assert one.z[3] == 0


def test_a_long_table(tmp_path: Path) -> None:
    lines = ["b,factual,9.5,40,false,1", "a,factual,3,20,true,01", "a,counterfactual,12,20,true,01"]
    without, found = read(tmp_path, "\n".join([LONG, *lines]))
    assert as_lists([without, found]) == [([9.5, 40, 0, 0], None), ([3, 20, 1, 1], [12, 20, 1, 1])]
    assert (without.place, found.place) == ("line 2", "line 4")


@pytest.mark.parametrize("long", [False, True])
def test_a_template_is_read_as_results_that_found_nothing(tmp_path: Path, long: bool) -> None:
    X = np.array([[0.1 + 0.2, 40, 0, 2], [1e-7, 3, 1, 0]])
    found = read(tmp_path, template(SPACE, X, [1, 0], long=long))
    assert [(one.row, one.x.tolist(), one.z) for one in found] == [(1, X[1].tolist(), None), (0, X[0].tolist(), None)]


def test_two_frames() -> None:
    factuals = pd.DataFrame({"zone": ["01", "1"], "size": [9.5, 3], "hours per week": [40, 20], "smokes": "false"})
    found = factuals.assign(size=[12, np.nan], row=[7, 8], seconds=[0.5, np.nan])
    first, second = results_of_frames(factuals, found, SPACE)
    assert as_lists([first]) == [([9.5, 40, 0, 1], [12, 40, 0, 1])]
    assert (first.place, first.row, first.seconds, second.seconds) == ("row 0", 7, 0.5, None)
    assert second.objection == "size has no value"
    with pytest.raises(DataError, match="the factuals have 2 rows and the counterfactuals 1"):
        results_of_frames(factuals, found[1:], SPACE)
    with pytest.raises(DataError, match=r"column 'factual\.zone' is missing"):
        results_of_frames(factuals.drop(columns="zone"), found, SPACE)


GOOD = "9.5,40,false,1,12,40,false,01"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{WIDE},secs\n{GOOD},1\n", "column 'secs' is unknown. .*seconds"),
        (f"{WIDE.replace('factual.zone,', '', 1)}\n{GOOD[:14]}{GOOD[16:]}\n", "column 'factual.zone' is missing"),
        (f"row,{WIDE},row\n7,{GOOD},7\n", "column 'row' is there 2 times"),
        (
            f"{WIDE},role\n{GOOD},factual\n",
            "mixes two formats: column 'role' belongs to the long one, and column 'fact",
        ),
        (f"{WIDE}\n{GOOD}\n{GOOD},1\n", "line 3 has 9 cells, and the header has 8"),
        (f"{WIDE}\n", "has no results"),
        (f'{WIDE}\n{GOOD}\n"9.5\n', "cannot be read from line 3 on"),
        (f"{WIDE},seconds\n{GOOD},-1\n", "line 2, column 'seconds': '-1' is not a number from 0"),
        (f"{WIDE},queries\n{GOOD},1.5\n", "line 2, column 'queries': '1.5' is not a whole number from 0"),
        (f"{WIDE},queries\n{GOOD},1e99\n", "line 2, column 'queries': '1e99' is not a whole number from 0"),
        (f"row,{WIDE}\nfirst,{GOOD}\n", "line 2, column 'row': 'first' is not a whole number from 0"),
        (f"{LONG}\na,fact,1,1,true,1\n", "line 2, column 'role': 'fact' is not 'factual' or 'counterfactual'"),
        (
            f"{LONG}\na,factual,1,1,true,1\na,factual,1,1,true,1\n",
            "line 3: a second factual of case 'a'; line 2 has one",
        ),
        (f"{LONG}\na,counterfactual,1,1,true,1\n", "line 2: there is no factual of case 'a'"),
        (f"{LONG[5:]}\nfactual,1,1,true,1\n", "a column 'row' .* or 'case' .* is missing"),
    ],
)
def test_what_is_no_table_of_results_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem) as caught:
        read(tmp_path, text)
    assert "results.csv" in str(caught.value)


def test_another_encoding_and_no_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    with pytest.raises(DataError, match=r"results\.csv cannot be read: No such file"):
        read_results(path, SPACE)
    path.write_bytes(f"{WIDE}\n9.5,40,false,Zürich,,,,\n".encode("latin-1"))
    with pytest.raises(DataError, match=r'byte \d+ is not UTF-8 text; .*fileEncoding = "UTF-8"'):
        read_results(path, SPACE)
