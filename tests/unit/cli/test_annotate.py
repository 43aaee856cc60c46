"""``cfbench datasets annotate``: from a table to a folder that ``check`` accepts."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.errors import DataError
from cfbench.tables.folder import load_folder


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["datasets", *arguments], catch_exceptions=False)


def german_table(n: int = 60) -> bytes:
    """Return a table with semicolons, decimal commas, dates, identifiers and gaps, in latin-1."""
    lines = ["Nr;Antrag;Alter;Einkommen;Beruf;zurückgezahlt"]
    for row in range(n):
        income = "" if row == 4 else f"1.{row:03},50"
        job = "" if row in (4, 9) else ["angestellt", "selbständig", "ohne"][row % 3]
        lines.append(f"{1000 + row};{1 + row % 28}.3.2021;{20 + row % 30};{income};{job};{'ja' if row % 2 else 'nein'}")
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")


def test_the_command_that_is_proposed_writes_a_folder_that_check_accepts() -> None:
    Path("kredite.csv").write_bytes(german_table())
    with pytest.raises(DataError) as caught:
        run("annotate", "kredite.csv", "--label", "zurückgezahlt", "--output", "Kredite 1")
    said = str(caught.value).splitlines()
    assert said[0] == "kredite.csv cannot be annotated as it is, 2 problems:"
    assert "column 'Antrag': it holds dates or times ('1.3.2021', line 2)" in said[1]
    assert "2 rows of 60 have gaps (Einkommen 1, Beruf 2)" in said[2]
    assert "(--drop-missing; 58 rows stay)" in said[2]
    assert not Path("Kredite 1").exists()

    proposed = shlex.split(said[-1])
    assert proposed[:2] == ["cfbench", "datasets"]
    result = run(*proposed[2:])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "kredite.csv: separated by semicolons, in latin-1, where a word is 'zurückgezahlt', decimal commas; 60 rows, "
        "6 columns"
    )
    assert "ignored: 'Nr' (it counts the rows); 'Antrag' (as you say)" in lines
    assert lines[-1] == "Next: cfbench datasets check './Kredite 1'"

    dataset = load_folder(Path("Kredite 1"), "kredite")
    assert dataset.space.names == ("Alter", "Einkommen", "Beruf")
    assert dataset.X[1].tolist() == [21.0, 1001.5, 2.0]  # 20 ohne, 19 angestellt, 19 selbständig
    assert dataset.class_labels[dataset.target] == "ja"
    checked = run("check", *shlex.split(lines[-1])[4:])
    assert checked.stdout.splitlines()[0] == "kredite-1: 58 rows, 3 features, 1 of them categorical"


def test_no_command_is_proposed_where_it_would_be_the_same() -> None:
    Path("kredite.csv").write_bytes(german_table())
    options = ["--label", "zurückgezahlt", "--target", "yes", "--ignore", "Antrag"]
    with pytest.raises(DataError) as caught:
        run("annotate", "kredite.csv", *options, "--drop-missing")
    assert str(caught.value).splitlines() == [
        "kredite.csv cannot be annotated as it is, 1 problem:",
        "  - column 'zurückgezahlt': unknown target class 'yes'. Known: ja, nein.",
    ]
    with pytest.raises(DataError, match=r"--ignore Antrag --drop-missing$"):
        run("annotate", "kredite.csv", *options)


def test_the_options_are_taken() -> None:
    rows = [f"{row % 4},{row % 17},{['x', ''][row % 5 == 0]},{'ab'[row % 2]}" for row in range(40)]
    Path("data.csv").write_text("\n".join(["size,group,kind,class", *rows]))
    options = ["--numerical", "size", "--categorical", "group", "--missing-as", "unknown", "--target", "b"]
    assert run("annotate", "data.csv", "--label", "class", *options).exit_code == 0
    space = load_folder(Path("data"), "data").space
    assert (space.features[0].lower, space.features[0].upper) == (0, 3)
    assert space.features[1].n_categories == 17
    assert space.features[2].categories == ("x", "unknown")


def test_nothing_is_overwritten() -> None:
    Path("data.csv").write_text("size,class\n" + "".join(f"{row % 13},{'ab'[row % 2]}\n" for row in range(40)))
    assert run("annotate", "data.csv").exit_code == 0
    before = Path("data/annotations.toml").read_bytes()
    with pytest.raises(DataError, match="exists already, and nothing is overwritten"):
        run("annotate", "data.csv")
    with pytest.raises(DataError, match=r"data\.csv exists already"):
        run("annotate", "data.csv", "--output", ".")
    assert Path("data/annotations.toml").read_bytes() == before


def test_a_problem_that_no_option_solves_proposes_no_command() -> None:
    Path("data.csv").write_text("size,price\n" + "".join(f"{row % 13},{row}.5\n" for row in range(40)))
    with pytest.raises(DataError, match="needs a few classes") as caught:
        run("annotate", "data.csv", "--label", "price")
    assert "cfbench datasets annotate" not in str(caught.value)


def test_check_says_that_large_tables_are_tuned_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("data.csv").write_text("size,class\n" + "".join(f"{row % 13},{'ab'[row % 2]}\n" for row in range(40)))
    run("annotate", "data.csv")
    monkeypatch.setattr("cfbench.running.fitted.MOST_TUNING_ROWS", 20)
    said = "models are tuned on a sample of 20 of the 32 training rows, and fitted on all"
    assert said in run("check", "./data").stdout.splitlines()
