"""Studies run from Python: the engine of the command line, and what only Python can give."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cfbench
from cfbench import Handles, Problem, SearcherEntry, hookimpl
from cfbench.api import StudyResult
from cfbench.cli import cli
from cfbench.record.store import Record
from cfbench.running.progress import RunReport
from cfbench.space import FloatArray
from tests.databases import record_digest
from tests.toys.studies import STUDY, TOY

ALL = [Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES]


def eleven(problem: Problem, rng: np.random.Generator) -> FloatArray:
    return np.array([11.0, problem.x[1], problem.x[2]])


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def test_a_result_without_a_finished_cell_is_shown_with_what_to_do(results: Path) -> None:
    with Record.open(results, write=True):
        pass
    report = RunReport(cells_failed=1, failures=["toy, threshold: <no table>"])
    page = StudyResult(report, results, "")._repr_html_()
    assert "1 failed" in page
    assert "&lt;no table&gt;" in page
    assert "no cell is finished" in page
    assert "<table>" not in page


@pytest.mark.slow
def test_python_and_the_command_line_run_the_same(results: Path) -> None:
    result = cfbench.run(STUDY, plugins=[TOY], results=results)
    assert (result.report.cells_done, result.report.searches_run, result.tracking) == (1, 2, "")
    assert str(result) == f"1 cell done; 2 searches run: {results}"
    assert repr(result).splitlines()[0] == str(result)
    assert "`.leaderboard()` shows the board" in repr(result)
    assert "StudyResult(" not in repr(result)
    page = result._repr_html_()
    assert f"1 cell done; 2 searches run: {results}" in page
    assert page.count("<table>") == 1
    assert "toy-dice" in page
    assert result.searches()["status"].tolist() == ["found", "found"]
    assert result.leaderboard().to_frame()["searches"].tolist() == [2]
    options = ["--points", "2", "--repetitions", "1", "--fold", "0", "--metric", "success", "--tracking", "none"]
    names = ["--dataset", "toy", "--model", "threshold", "--searcher", "toy-dice", "--plugin", str(TOY)]
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", *names, *options, "--time-limit", "none", "--workers", "1", "--results", "by-command"])
    assert ended.value.code == 0
    assert record_digest(Path("by-command")) == record_digest(results)


def test_the_same_call_runs_only_what_is_missing(results: Path) -> None:
    cfbench.run(STUDY, plugins=[TOY], results=results)
    assert cfbench.run(STUDY, plugins=[TOY], results=results).report.searches_run == 0
    one: Any = TOY  # a list of one, by its looks
    assert cfbench.run(STUDY, plugins=one, results=results, points=5).report.searches_run == 3


def test_a_study_may_be_a_file_or_an_object(results: Path) -> None:
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in STUDY.items() if key != "name"]
    Path("mine.toml").write_text("\n".join(lines), encoding="utf-8")
    assert cfbench.run("mine.toml", plugins=[str(TOY)]).report.searches_run == 2
    assert cfbench.run(Path("mine.toml"), plugins=[TOY]).report.searches_run == 0
    assert cfbench.run(cfbench.Study(**STUDY), plugins=[TOY]).report.searches_run == 0


@pytest.mark.parametrize(
    ("study", "changes", "words"),
    [
        ("quik", {}, "unknown preset 'quik'. Did you mean 'quick'?"),
        ("absent.toml", {}, "study file absent.toml: no such file"),
        (3, {}, "a study is a Study, a dict of its keys, the path of a TOML file or a preset's name, not int"),
        ({**STUDY, "pints": 3}, {}, "unknown key 'pints'. Did you mean 'points'?"),
        (STUDY, {"point": 3}, "unknown key 'point'. Did you mean 'points'?"),
        (STUDY, {"retry": ["crash"]}, "unknown status 'crash'. Did you mean 'crashed'?"),
        (STUDY, {"plugins": [eleven]}, "the function eleven is no plugin; give it with a name: SearcherEntry"),
        (STUDY, {"plugins": ["absent_module"]}, "there is no plugin module 'absent_module'"),
        (STUDY, {"plugins": []}, "unknown model 'threshold'"),
        (STUDY, {"workers": 4096}, "4,096 workers are too many for this machine, which has"),
    ],
)
@pytest.mark.usefixtures("results")
def test_what_cannot_be_run_is_refused(study: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(cfbench.CfbenchError, match=words):
        cfbench.run(study, **{"plugins": [TOY], **changes})
    assert not Path("results").exists()


def test_an_entry_is_a_plugin(results: Path) -> None:
    entries = [SearcherEntry(name="eleven", searcher=eleven, handles=ALL)]
    result = cfbench.run(STUDY, plugins=[TOY, *entries], searchers=["eleven"], results=results)
    assert [z[0] for z in result.searches()["z"]] == [11.0, 11.0]


class Plugin:
    """A searcher that only this process knows."""

    @hookimpl
    def cfbench_register_searchers(self) -> list[SearcherEntry]:
        return [SearcherEntry(name="eleven", searcher=eleven, handles=ALL)]


class Ear:
    """Hears, and registers nothing."""

    heard = 0

    @hookimpl
    def cfbench_search_finished(self) -> None:
        Ear.heard += 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workers": 2}, "asks for 2 workers, so"),
        ({"time_limit": 60.0}, r"asks for a time limit of 60 s, so .* only this one holds: Plugin\. Put the plugin"),
        ({"workers": 2, "time_limit": 1.5}, r"asks for 2 workers and a time limit of 1\.5 s, so"),
    ],
)
def test_a_plugin_of_this_process_alone_cannot_be_sent_to_others(
    results: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(cfbench.CfbenchError, match=words):
        cfbench.run(STUDY, plugins=[TOY, Plugin()], searchers=["eleven"], results=results, **changes)
    assert not results.exists()


@pytest.mark.slow
def test_modules_are_rebuilt_in_workers_and_reporters_stay_here(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "toys_by_module.py").write_text(TOY.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    import toys_by_module  # type: ignore[import-not-found]

    Ear.heard = 0
    result = cfbench.run(STUDY, plugins=[toys_by_module, Ear], workers=2, time_limit=60.0, results=results)
    assert result.report.searches_run == 2
    assert Ear.heard == 2


def test_a_module_that_cannot_be_imported_again_is_an_object_of_this_process(results: Path) -> None:
    made = ModuleType("made_by_hand")
    made.cfbench_register_searchers = Plugin().cfbench_register_searchers  # type: ignore[attr-defined]
    with pytest.raises(cfbench.CfbenchError, match="only this one holds: made_by_hand"):
        cfbench.run(STUDY, plugins=[TOY, made], searchers=["eleven"], results=results, workers=2)
    assert cfbench.run(STUDY, plugins=[TOY, made], searchers=["eleven"], results=results).report.searches_run == 2


def test_a_broken_plugin_is_a_warning_and_an_error_if_strict(results: Path) -> None:
    Path("broken.py").write_text("import surely_absent\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="imports 'surely_absent', which is not installed here"):
        cfbench.run(STUDY, plugins=[TOY, "broken.py"], results=results)
    with pytest.raises(cfbench.CfbenchError, match="strict"):
        cfbench.run(STUDY, plugins=[TOY, "broken.py"], results=results, strict=True)


def test_an_interrupted_run_does_not_let_the_script_go_on(results: Path) -> None:
    def interrupted(problem: Problem, rng: np.random.Generator) -> FloatArray:
        signal.raise_signal(signal.SIGINT)
        return problem.x

    entry = SearcherEntry(name="interrupted", searcher=interrupted, handles=ALL)
    with pytest.raises(KeyboardInterrupt, match="every finished search is in"):
        cfbench.run(STUDY, plugins=[TOY, entry], searchers=["toy-dice", "interrupted"], results=results)
    assert cfbench.run(STUDY, plugins=[TOY], results=results).report.searches_run == 0


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import cfbench\nprint(cfbench.run({STUDY!r}, plugins={str(TOY)!r}, workers=2))\n", "utf-8")
    environment = {**os.environ, "CFBENCH_CACHE_DIR": str(tmp_path / "cache")}
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    assert "no worker process can start" in ended.stdout
    assert 'put the call under `if __name__ == "__main__":`' in ended.stderr
