"""Relations in annotations.toml: what is read, and the sentence with the line of the file for what cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cfbench.errors import DataError
from cfbench.space.dataset import require_kept_relations
from cfbench.tables.folder import load_folder
from tests.unit.tables.folders import ANNOTATION, write_folder

FIRST = len(ANNOTATION.splitlines()) + 2
"""The line of the first relation's header."""

INEQUALITY = '[[relations]]\ninequality = "income <= 0.3 * (age - 13)"'
IMPLICATION = '[[relations]]\nif = { job = "none" }\nthen = { income = "<= 1.5" }'
TRANSITION = '[[relations]]\nfeature = "region"\nfrom = 7\nto = [9]'


def folder(path: Path, *relations: str) -> Path:
    return write_folder(path, annotation=lambda text: "\n\n".join([text.rstrip("\n"), *relations]) + "\n")


def test_relations_are_read(tmp_path: Path) -> None:
    space = load_folder(folder(tmp_path, INEQUALITY, IMPLICATION, TRANSITION), "loans").space
    assert [relation.name for relation in space.relations] == [
        f"relation 'income <= 0.3 * (age - 13)' (annotations.toml, line {FIRST})",
        f"relation 'if job = none then income <= 1.5' (annotations.toml, line {FIRST + 3})",
        f"relation 'region never from north to south' (annotations.toml, line {FIRST + 7})",
    ]
    x = np.array([20.0, 1, 1, 0])
    rows = np.array([[20.0, 2.1, 1, 0], [20, 2.2, 1, 0], [40, 1.6, 0, 0], [40, 1.5, 0, 0], [20, 1, 1, 1]])
    assert space.keeps_relations(rows, x).tolist() == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("relations", "complaint"),
    [
        (
            [INEQUALITY, '[[relations]]\ninequality = "incom <= age"'],
            f"annotations.toml, line {FIRST + 3}: unknown feature 'incom'. Did you mean 'income'?",
        ),
        (
            ['[[relations]]\ninequality = "income * age <= 3"'],
            f"annotations.toml, line {FIRST}: 'income * age <= 3' is not linear in 'income * age'",
        ),
        (
            ['[[relations]]\nfeature = "region"\nfrom = 8\nto = [9]'],
            f"annotations.toml, line {FIRST}: feature 'region': unknown category '8'",
        ),
        (
            [
                '[[relations]]\ninequality = "income >= 8"',
                '[[relations]]\ninequality = "age <= 30"',
                INEQUALITY,
            ],
            f"no row keeps the relation 'income >= 8' (annotations.toml, line {FIRST}) and the relation 'age <= 30' "
            f"(annotations.toml, line {FIRST + 3}) and the relation 'income <= 0.3 * (age - 13)' (annotations.toml, "
            f"line {FIRST + 6}) together: they contradict each other",
        ),
        (
            ['[[relations]]\ninequality = "income >= 11"'],
            f"no row inside the intervals keeps the relation 'income >= 11' (annotations.toml, line {FIRST})",
        ),
        (
            ['[[relations]]\ninequality = "income >= 0.1 * age"'],
            f"10 of 10 rows break the relation 'income >= 0.1 * age' (annotations.toml, line {FIRST}), the first is "
            "row 1",
        ),
        (["[[relations]]\ninequality = 3"], f"annotations.toml, line {FIRST}: inequality is '3'"),
        (["[[relations]]\n"], f"annotations.toml, line {FIRST}: its keys are missing; a relation has the key"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(tmp_path: Path, relations: list[str], complaint: str) -> None:
    with pytest.raises(DataError) as refusal:
        require_kept_relations(load_folder(folder(tmp_path, *relations), "loans"))
    assert complaint in str(refusal.value)


def test_relations_in_one_list_are_counted(tmp_path: Path) -> None:
    path = write_folder(tmp_path, annotation=lambda text: 'relations = [{ inequality = "age <= incom" }]\n' + text)
    with pytest.raises(DataError, match=r"annotations.toml, relation 1: unknown feature 'incom'"):
        load_folder(path, "loans")
