"""Two hundred files of every kind that cfbench reads and did not write: each is read, or refused in a sentence."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cfbench.caches import CACHE_VARIABLE
from cfbench.registry.discovery import import_file

if TYPE_CHECKING:
    from tests.fuzz import targets
else:
    targets = import_file(Path(__file__).with_name("targets.py"))

INPUTS = 200
KINDS = (
    "study files",
    "annotation files",
    "CSV tables",
    "record files, read",
    "record files, run again",
    "packed records",
)


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, targets.Target]]:
    before = os.environ.get(CACHE_VARIABLE)
    yield {target.name: target for target in targets.make_targets(tmp_path_factory.mktemp("fuzz"))}
    if before is None:
        del os.environ[CACHE_VARIABLE]
    else:
        os.environ[CACHE_VARIABLE] = before


@pytest.mark.slow
def test_all_kinds_are_fuzzed(by_name: dict[str, targets.Target]) -> None:
    assert tuple(by_name) == KINDS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # a failing file is large to print
@pytest.mark.parametrize("kind", KINDS)
def test_no_file_leads_to_a_traceback(by_name: dict[str, targets.Target], kind: str) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        count, _ = by_name[kind].fuzz(INPUTS)
    assert count >= INPUTS // 2  # hypothesis draws no input twice
