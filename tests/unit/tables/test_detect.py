"""Tables of unknown form: what is found out about the file, against tables written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfbench.errors import DataError
from cfbench.tables.detect import FoundTable, as_numbers, read_any, uses_decimal_commas


def read(where: Path, content: str | bytes) -> FoundTable:
    path = where / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_any(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    found = read(tmp_path, "age,job\n34,none\n51,clerk\n".replace(",", delimiter))
    assert found.table.header == ("age", "job")
    assert found.table.rows == [["34", "none"], ["51", "clerk"]]
    assert found.table.lines == (2, 3)


def test_decimal_commas_do_not_separate_columns(tmp_path: Path) -> None:
    found = read(tmp_path, "height;weight\n1,75;70,5\n1,80;81,25\n")
    assert found.table.rows == [["1,75", "70,5"], ["1,80", "81,25"]]
    assert found.decimal_comma


def test_excel_names_its_delimiter(tmp_path: Path) -> None:
    assert read(tmp_path, "sep=|\r\na,b|c\r\n1|2\r\n").table.header == ("a,b", "c")


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", "in utf-8"),
        ("utf-8-sig", "in utf-8"),
        ("utf-16", "in utf-16"),
        ("latin-1", "in latin-1, where a word is 'größe'"),
    ],
)
def test_the_encoding_is_found(tmp_path: Path, encoding: str, said: str) -> None:
    found = read(tmp_path, "größe,ort\n1,Köln\n2,Bonn\n".encode(encoding))
    assert found.table.header == ("größe", "ort")
    assert found.table.column("ort") == ["Köln", "Bonn"]
    assert found.form == f"separated by commas, {said}"


def test_windows_signs_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, "preis,ort\n5 €,Köln\n".encode("cp1252"))
    assert found.table.rows == [["5 €", "Köln"]]
    assert "in cp1252" in found.form


def test_newlines_in_quotes_are_blanks_and_lines_are_those_of_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, '"first\nname",b\n"x\n\ny",1\nz,2\n')
    assert found.table.header == ("first name", "b")
    assert found.table.rows == [["x y", "1"], ["z", "2"]]
    assert found.table.lines == (5, 6)


def test_columns_without_a_name_of_their_own_are_named(tmp_path: Path) -> None:
    found = read(tmp_path, "age,,age,age-2,age\n1,2,3,4,x\n")
    assert found.table.header == ("age", "column-2", "age-3", "age-2", "age-4")
    assert found.notes == (
        "column 2 has no name; it is called 'column-2'",
        "column 3 has the name of another one, 'age'; it is called 'age-3'",
        "column 5 has the name of another one, 'age'; it is called 'age-4'",
    )


@pytest.mark.parametrize(
    ("text", "has_header"),
    [
        ("34,none,yes\n51,clerk,no\n23,none,yes\n45,clerk,no\n", False),
        ("age,job,repaid\n34,none,yes\n51,clerk,no\n", True),
        ("p,x\ne,y\np,y\ne,x\np,x\n", False),
        ("type,shape\ne,y\np,y\ne,x\np,x\n", True),
        ("country,2019,2020\nFrance,1,2\nSpain,2,3\nItaly,4,5\nFrance,2,2\nSpain,1,1\nItaly,2,2\n", True),
        ("2020-01-02,3.5\n2020-01-03,4.5\n2020-01-04,5.5\n", False),
        ("id,mail\n1,a@x.org\n2,b@x.org\n", True),
    ],
)
def test_a_header_is_a_first_line_that_is_no_row(tmp_path: Path, text: str, has_header: bool) -> None:
    found = read(tmp_path, text)
    first = tuple(text.splitlines()[0].split(","))
    assert (found.table.header == first) == has_header
    assert len(found.table.rows) == len(text.splitlines()) - has_header
    assert has_header or found.table.header[0] == "column-1"
    assert has_header or found.notes == ("the first line is a row like the others: column-1 and so on",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"age\n1\n2\n", "has one column"),
        (b"a,b\n1,2\n1\n1,2,3\n", "2 problems:\n  - line 3 has 1 cells, the header has 2"),
        (b"a,b\n", "it has a header and no row"),
        (b'a,b\n1,"2\n', "cannot be read from line 2 on"),
        (b"PK\x03\x04rest", "a spreadsheet or an archive; save its sheet as CSV"),
        (b"a,b\n\0,1\n", "it holds zero bytes"),
        (b"\xff\xfea", "begins as utf-16 text and goes on otherwise"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, content)
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist"):
        read_any(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_any(tmp_path)


@pytest.mark.parametrize(
    ("spelled", "comma", "numbers"),
    [
        (["1", "-2.5", "3e2", "+4."], False, ["1", "-2.5", "3e2", "+4."]),
        (["1,5", "2", "-0,25"], True, ["1.5", "2", "-0.25"]),
        (["1.234,5", "2.000", "12"], True, ["1234.5", "2000", "12"]),
        (["1.234", "2.5"], True, ["1.234", "2.5"]),  # points that stand before no thousands
        (["1,5", "2.5"], True, None),  # both decimal signs
        (["1,234", "12,345,678.5", "7"], False, ["1234", "12345678.5", "7"]),
        (["1,23"], False, None),
        (["1 234", "5\N{NO-BREAK SPACE}678", "9'876"], False, ["1234", "5678", "9876"]),
        (["\N{MINUS SIGN}3"], False, ["-3"]),
        (["1", "x"], False, None),
        (["1_000"], False, None),
        (["inf"], False, None),
        (["12%"], False, None),
    ],
)
def test_numbers_are_read_as_they_are_spelled(spelled: list[str], comma: bool, numbers: list[str] | None) -> None:
    expected = None if numbers is None else dict(zip(spelled, numbers, strict=True))
    assert as_numbers(spelled, decimal_comma=comma) == expected


@pytest.mark.parametrize(
    ("cells", "semicolons", "expected"),
    [
        (["1,5", "2"], False, True),
        (["1,234", "2"], False, False),  # thousands
        (["1,234", "2"], True, True),
        (["1.234,50", "2.000"], True, True),
        (["Smith, John", "1,5"], True, False),
        (["1,5", "none"], True, False),
        (["1,5", "NA", ""], True, True),
        (["1.5"], True, False),
    ],
)
def test_decimal_commas_are_found(cells: list[str], semicolons: bool, expected: bool) -> None:
    assert uses_decimal_commas([["a", "b"], cells], semicolons=semicolons) == expected
