"""Messages, documentation, docstrings and comments use plain words: none of those that `WORDS` replaces."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.sources import ROOT

UNITS = (
    "candidate|category|cell|check|class|core|feature|fold|generation|leaf|metric|model|node|objective|page|point|query|"
    "repetition|row|run|search|searcher|task|test|thread|tree|unit|user|worker"
)
PEOPLE = ("people", "persons", "person", "user", "users", "those", "reader", "readers", "author", "authors", "anyone")
THINGS = "rows?|classes|probabilities"
WORDS = {
    r"mend(s|ed|ing)?": "fix",
    r"beside": "next to, in addition to, compared with",
    r"held against|hold(s|ing)? (\w+ ){1,4}against": "compare with, check against",
    r"(?<!there )(is|are|was) (?-i:none)": "is not a ..., is invalid",
    rf"(one|once|lines?|bytes|kB|MB|ms|rows|seconds|searches|times|tries) an? ({UNITS})(?! \w+s\b)": "per",
    r"has no say": "is ignored",
    r"counts? where": "counts if",
    r"told apart|tells? (\w+ )?apart": "no significant difference, distinguish",
    r"cannot tell": "cannot verify",
    r"dear(er|est)?": "expensive, more expensive",
    r"cheap in rows": "few queries",
    r"hang(s|ing)? on": "depends on",
    r"aside": "except, excluding",
    r"want of|what (it|they) lacks?": "lack of, what is missing",
    r"the like|(and|or) (its|their) like": "similar",
    r"so many of": "the N ...",
    r"farewells?|luggage|parcels?|missions?|bouts?|duels?|arenas?|entrants?|strays?": "the plain noun of the thing",
    r"whoever|nobody|somebody|everybody": "the thing that acts",
    "".join(rf"(?<!\b{person} )" for person in PEOPLE) + "who": "the thing that acts: 'who' is for people",
    r"(can(not)?|could not) be had": "is available, is unavailable",
    rf"ask(s|ed|ing)? (the model|an oracle|(for )?(the |as many |fewer |more |many )?({THINGS}))": "query, queries",
    rf"({THINGS}) (that )?(are |were |was )?asked": "rows queried",
    r"asked (about|again|once|twice|of the model|row by row|in batches)": "queried, evaluated",
    rf"questions? (to (the model|an oracle)|of (\S+ )?\S+ rows?|about ({THINGS}|candidates))": "query, queries",
}
PLAIN = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): plain for words, plain in WORDS.items()}
CODE = re.compile(r"``.*?``|`[^`\n]*`|(?<=\])\([^)]*\)")  # names in backquotes, and where links lead
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)

MODULES = sorted(
    path
    for root in ("cfbench", "plugins", "datasets", "examples")
    for path in (ROOT / root).rglob("*")
    if path.suffix in (".py", ".j2")
)
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for root in ("docs", "datasets", "examples", "benchmarks") for path in (ROOT / root).rglob("*.md")),
        *(ROOT / "leaderboard").glob("*.toml"),
    ]
)


def found(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of line breaks before every word to replace, and what to write instead."""
    text = CODE.sub("``", FENCED.sub(lambda block: "\n" * block[0].count("\n"), text))
    spaced = re.sub(r"\s", " ", text)
    for words, plain in PLAIN.items():
        for match in words.finditer(spaced):
            yield text.count("\n", 0, match.start()), f"{match[0]!r}: write {plain}"


def prose(code: str) -> Iterator[tuple[int, str]]:
    """Yield a module's strings, except keys of dictionaries, which are names, and its comments, with their lines."""
    nodes = list(ast.walk(ast.parse(code)))
    keys = {id(key) for node in nodes if isinstance(node, ast.Dict) for key in node.keys}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in keys:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def problems(path: Path) -> list[str]:
    """Return the words to replace in a page, or in a module's strings and comments, each with file and line."""
    text = path.read_text(encoding="utf-8")
    parts = list(prose(text)) if path.suffix == ".py" else [(1, text)]
    name = path.relative_to(ROOT).as_posix()
    return [f"{name}:{start + line}: {what}" for start, part in parts for line, what in found(part)]


def test_words_are_found_with_their_line_and_the_plainer_word() -> None:
    text = "One a\ncell, nobody knows.\n\n```\nsomebody\n```\nPeople who read `nobody`, the one who\nasks for rows."
    assert list(found(text)) == [
        (0, "'One a cell': write per"),
        (1, "'nobody': write the thing that acts"),
        (6, "'who': write the thing that acts: 'who' is for people"),
        (7, "'asks for rows': write query, queries"),
    ]
    assert list(found("None of them, if there is none; I recommend [this](docs/beside.md): a question of taste.")) == []


def test_strings_and_comments_of_a_module_are_read_and_keys_are_not() -> None:
    code = 'beside = {"duels": "strays"}  # whoever\n'
    assert list(prose(code)) == [(1, "strays"), (1, "# whoever")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_use_plain_words(page: Path) -> None:
    assert problems(page) == []


def test_modules_use_plain_words() -> None:
    assert [line for path in MODULES for line in problems(path)] == []
