"""Bad annotations: the loader names the feature, the key, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Edit = Callable[[str], str]
Refusal = Callable[..., str]


def swap(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert text.count(old) >= 1
        return text.replace(old, new, 1)

    return edit


BAD_ANNOTATIONS: dict[str, tuple[Edit, list[str]]] = {
    "nested past Python's limit": (
        swap("user =", "user = " + "[" * 5000 + "]" * 5000 + " #"),
        ["cannot be read", "nested too deeply"],
    ),
    "nested": (
        swap("user =", "user = " + "[" * 200 + "]" * 200 + " #"),
        ["key 'user' is [[[[", "...; allowed: a string"],
    ),
    "very many unknown keys": (
        lambda text: "".join(f"key{number} = 1\n" for number in range(20_000)) + text,
        ["unknown key 'key0'", "101 problems"],
    ),
    "broken TOML": (swap("[label]", "[label"), ["is not valid TOML", "line 4"]),
    "unknown key": (swap("user =", "usr ="), ["unknown key 'usr'. Did you mean 'user'?"]),
    "unknown key of a feature": (
        swap("constraint =", "constrain ="),
        ["feature 'age': unknown key 'constrain'. Did you mean 'constraint'?"],
    ),
    "unknown key of a perturbation": (
        swap("decrease =", "decreases ="),
        ["feature 'income', perturbation: unknown key 'decreases'. Did you mean 'decrease'?"],
    ),
    "unknown key of the label": (
        swap("column =", "colum ="),
        ["[label]: unknown key 'colum'", "key 'column' is missing"],
    ),
    "missing key": (swap('target = "yes"', ""), ["[label]: key 'target' is missing"]),
    "missing label": (lambda text: text[text.index("[[features]]") :], ["key 'label' is missing"]),
    "missing features": (lambda text: text[: text.index("[[features]]")], ["key 'features' is missing"]),
    "missing name": (swap('name = "age"', ""), ["[[features]] table 1: key 'name' is missing"]),
    "missing interval": (swap("interval = [18, 90]", ""), ["feature 'age'", "needs the key 'interval'"]),
    "missing categories": (swap("categories = [7, 9]", ""), ["feature 'region'", "needs the key 'categories'"]),
    "wrong type": (swap("interval = [18, 90]", 'interval = "18-90"'), ["'interval' is '18-90'; allowed: a list"]),
    "wrong type within": (swap("[18, 90]", '[18, "x"]'), ["feature 'age': entry 2 of 'interval' is 'x'", "a number"]),
    "boolean category": (swap("[7, 9]", "[7, true]"), ["entry 2 of 'categories' is True", "string or a whole number"]),
    "blank category": (swap('["none",', '[" ",'), ["entry 1 of 'categories' is ' '", "no blanks"]),
    "three ends": (swap("[18, 90]", "[18, 40, 90]"), ["'interval'", "[minimum, maximum]"]),
    "table expected": (swap("{ increase = 2 }", "2"), ["'perturbation' is 2; allowed: a table"]),
    "minimum not below maximum": (swap("[18, 90]", "[90, 90]"), ["feature 'age'", "[90.0, 90.0]", "below its maximum"]),
    "interval past the largest number": (
        swap("[0, 10]", "[-1e308, 1e308]"),
        ["feature 'income'", "wider than the largest number"],
    ),
    "perturbation to no category": (
        swap('{ categories = ["employed", "none"] }', "{ categories = [] }"),
        ["its perturbation leads to no category; list some, or leave the perturbation out"],
    ),
    "endless interval": (swap("[0, 10]", "[0, inf]"), ["entry 2 of 'interval' is inf", "finite"]),
    "kind": (swap('kind = "numerical"', 'kind = "number"'), ["'kind' is 'number'", "'numerical' or 'categorical'"]),
    "constraint": (swap('">="', '">"'), ["feature 'age': key 'constraint' is '>'", "'<='"]),
    "constraint without an order": (swap('constraint = "="', 'constraint = "<="'), ["feature 'region'", "order"]),
    "negative perturbation": (swap("increase = 2", "increase = -2"), ["feature 'age'", "-2.0", ">= 0"]),
    "empty perturbation": (swap("{ increase = 2 }", "{ }"), ["feature 'age'", "{ decrease = ..., increase = ... }"]),
    "perturbation of the other kind": (
        swap("{ increase = 2 }", '{ categories = "all" }'),
        ["feature 'age'", "{ decrease = ..., increase = ... }"],
    ),
    "numbers for categories": (
        swap('{ categories = ["employed", "none"] }', "{ increase = 1 }"),
        ["feature 'job'", "{ categories = [...] }"],
    ),
    "unknown category of a perturbation": (
        swap('["employed", "none"]', '["employd"]'),
        ["feature 'job'", "unknown category of the perturbation 'employd'. Did you mean 'employed'?"],
    ),
    "neither list nor all": (swap('["employed", "none"]', '"any"'), ["'categories' is 'any'", 'or "all"']),
    "annotation of an unknown feature": (
        swap('name = "age"', 'name = "agee"'),
        ["feature 'agee' of annotations.toml has no column", "Did you mean 'age'?"],
    ),
    "labels": (swap('["north", "south"]', '["north"]'), ["feature 'region'", "1 labels for 2 categories"]),
    "categories of a number": (swap("step = 1", 'categories = ["a"]'), ["feature 'age'", "no 'categories'"]),
    "interval of a category": (
        swap("categories = [7, 9]", "categories = [7, 9]\ninterval = [7, 9]"),
        ["no 'interval'"],
    ),
    "category twice": (swap("[7, 9]", '[7, "7"]'), ["feature 'region'", "twice"]),
    "step": (swap("step = 1", "step = 0"), ["feature 'age'", "step is 0.0", "positive"]),
    "step of a category": (swap("[7, 9]", "[7, 9]\nstep = 1"), ["feature 'region'", "no step"]),
    "feature twice": (swap('name = "income"', 'name = "age"'), ["feature 'age' is annotated 2 times"]),
    "label is a feature": (swap('column = "repaid"', 'column = "job"'), ["'job' is the label column and a feature"]),
    "unknown target": (swap('target = "yes"', 'target = "yess"'), ["unknown target class 'yess'. Did you mean 'yes'?"]),
    "one annotated class": (swap('["no", "yes"]', '["yes"]'), ["needs two classes"]),
    "class twice": (swap('["no", "yes"]', '["yes", "yes"]'), ["lists a class twice"]),
    "meanings": (swap("[label]", '[label]\nmeanings = ["a"]'), ["'meanings' has 1 entries for 2 classes"]),
    "no feature": (lambda text: "features = []\n" + text[: text.index("[[features]]")], ["there is no feature"]),
}


@pytest.mark.parametrize(("edit", "words"), BAD_ANNOTATIONS.values(), ids=BAD_ANNOTATIONS.keys())
def test_a_bad_annotation_is_refused(tmp_path: Path, refusal: Refusal, edit: Edit, words: list[str]) -> None:
    message = refusal(annotation=edit)
    assert str(tmp_path / "loans") in message
    for word in words:
        assert word in message
