"""A run on a user's own model: from a file and behind HTTP, with held-out points, and what goes wrong on the way."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfbench
from cfbench import Handles, Need, Problem, SearcherEntry, StudyResult
from cfbench.errors import DataError, StudyError
from cfbench.registry import endpoint
from cfbench.space import FloatArray

ANNOTATIONS = """
[label]
column = "loan"
classes = ["no", "yes"]
meanings = ["refused", "granted"]
target = "yes"

[[features]]
name = "income"
kind = "numerical"
interval = [0, 100]

[[features]]
name = "colour"
kind = "categorical"
categories = ["r", "g", "b"]
labels = ["red", "green", "blue"]
"""

MODEL = """
class Rule:
    def predict(self, rows):
        if (rows["income"] > 99.9999).any():
            raise ValueError("too rich")
        return ["yes" if one > 70 else "no" for one in rows["income"] + 40 * (rows["colour"] == "b")]

def fitted():
    return Rule()
"""


def rule(income: float, colour: str) -> str:
    return "yes" if income + 40 * (colour == "b") > 70 else "no"


def write_table(path: Path, seed: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"income": rng.uniform(0, 99, n).round(2), "colour": rng.choice(["r", "g", "b"], n)})
    table["loan"] = [rule(*row) for row in table.itertuples(index=False)]
    table.to_csv(path, index=False)
    return table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loans").mkdir()
    (tmp_path / "loans" / "annotations.toml").write_text(ANNOTATIONS)
    (tmp_path / "rule.py").write_text(MODEL)
    write_table(tmp_path / "loans" / "data.csv", 1, 100)
    return tmp_path


def half_up(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Raise the income in steps until the model agrees."""
    for share in (0.25, 0.5, 0.75, 0.999):
        z = problem.x.copy()
        z[0] += share * (100 - z[0])
        if problem.predict(z[np.newaxis])[0] == problem.target:
            return z
    return None


def to_the_top(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Query the end of the interval, and keep to oneself what the model says to that."""
    z = problem.x.copy()
    z[0] = 100
    try:
        problem.predict(z[np.newaxis])
    except Exception:
        return z
    return z


def run(folder: Path, model: str, search: Any = half_up, **more: Any) -> StudyResult:
    keys = {"datasets": [str(folder / "loans")], "models": [model], "searchers": ["mine"], "metrics": []}
    options = {"repetitions": 1, "tracking": "none", "results": folder / "results", **more}
    if "points_from" not in more:
        options["folds"] = [0]
    return cfbench.run(
        keys, plugins=[SearcherEntry(name="mine", searcher=search, handles=[Handles.CATEGORICAL])], **options
    )


def test_held_out_points_are_explained_and_all_rows_are_training_rows(folder: Path) -> None:
    held_out = write_table(folder / "held-out.csv", 2, 12).drop(columns="loan").assign(note="ignored")
    held_out.to_csv(folder / "held-out.csv", index=False)
    refused = held_out[[rule(*row) == "no" for row in held_out[["income", "colour"]].itertuples(index=False)]]
    searches = run(folder, f"{folder}/rule.py:fitted", points_from=folder / "held-out.csv").searches()
    assert sorted(x[0] for x in searches["x"]) == sorted(refused["income"])
    assert set(searches["status"]) == {"found"}
    for z in searches["z"]:
        assert rule(z[0], "rgb"[int(z[1])]) == "yes"
    again = run(folder, f"{folder}/rule.py:fitted", points_from=folder / "held-out.csv")
    assert again.report.searches_run == 0


def test_a_wrong_cell_of_held_out_points_is_named(folder: Path) -> None:
    (folder / "held-out.csv").write_text("income,colour\n10,r\nmuch,b\n20,pink\n")
    with pytest.raises(DataError) as refused:
        run(folder, f"{folder}/rule.py:fitted", points_from=folder / "held-out.csv")
    assert "column 'income', row 2: 'much'; allowed: a number from 0 to 100" in str(refused.value)
    assert "column 'colour', row 3: 'pink'; allowed: 'r', 'g', 'b'" in str(refused.value)
    (folder / "held-out.csv").write_text("income,colour\n10,r\n120,b\n")
    with pytest.raises(DataError, match=r"column 'income', row 2: 120\.0 is not allowed"):
        run(folder, f"{folder}/rule.py:fitted", points_from=folder / "held-out.csv")


def test_a_model_that_raises_for_some_rows_makes_the_search_invalid(folder: Path) -> None:
    searches = run(folder, f"{folder}/rule.py:fitted", to_the_top, points=2).searches()
    assert set(searches["status"]) == {"invalid"}
    assert set(searches["reason"]) == {"the model raised ValueError: too rich"}


def test_a_searcher_that_needs_probabilities_is_skipped(folder: Path) -> None:
    with pytest.raises(StudyError, match="mine needs probabilities, and rule-fitted does not show it"):
        cfbench.run(
            {"datasets": [str(folder / "loans")], "models": [f"{folder}/rule.py:fitted"], "searchers": ["mine"]},
            plugins=[
                SearcherEntry(name="mine", searcher=half_up, needs=[Need.PROBABILITIES], handles=[Handles.CATEGORICAL])
            ],
            results=folder / "results",
        )


def test_another_model_in_the_file_is_another_cell(folder: Path) -> None:
    assert run(folder, f"{folder}/rule.py:fitted", points=2).report.searches_run == 2
    (folder / "rule.py").write_text(
        MODEL.replace("> 70", "> 60").replace("class Rule", "class Rule2").replace("Rule()", "Rule2()")
    )
    assert run(folder, f"{folder}/rule.py:fitted", points=2).report.searches_run == 2


@pytest.mark.parametrize(
    "name",
    [
        "{}/rule.py:fitted",
        "{}/rule.py:fitted.skops",
        "{}/rule.joblib",
        "http://127.0.0.1:9/predict",
        "http://127.0.0.1:9/predict.skops",
    ],
)
def test_a_study_file_needs_trust_for_a_model_that_runs_code(folder: Path, name: str) -> None:
    model = name.format(folder)
    keys = {"datasets": [str(folder / "loans")], "models": [model], "searchers": ["nearest-unlike"]}
    (folder / "study.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
    with pytest.raises(StudyError, match=re.escape(f"names the model {model}, whose code would run here")):
        cfbench.run(folder / "study.toml", results=folder / "results")


class Server(ThreadingHTTPServer):
    """Serves the rule; `answer` makes the predictions, and may be replaced."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.rows = 0
        self.answer: Callable[[list[list[Any]]], object] = lambda data: [rule(*row) for row in data]
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/predict"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["dataframe_split"]
        assert content["columns"] == ["income", "colour"]
        self.server.rows += len(content["data"])
        body = json.dumps({"predictions": self.server.answer(content["data"])}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(endpoint, "PAUSES", (0.0, 0.0))
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_an_endpoint_is_searched_like_a_model_here(folder: Path, server: Server) -> None:
    here = run(folder, f"{folder}/rule.py:fitted", points=4).searches()
    there = run(folder, server.url, points=4, results=folder / "there").searches()
    assert there["z"].map(list).tolist() == here["z"].map(list).tolist()
    assert there["search_queries"].tolist() == here["search_queries"].tolist()
    assert set(there["status"]) == {"found"}


def test_an_endpoint_that_changes_its_answers_makes_the_search_invalid(folder: Path, server: Server) -> None:
    def turn(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        z = half_up(problem, rng)
        server.answer = lambda data: [rule(income + 30, colour) for income, colour in data]
        return z

    searches = run(folder, server.url, turn, points=2).searches()
    assert set(searches["status"]) == {"invalid"}
    assert searches["reason"].str.match(r"the model has changed its answers: \d+ of \d+ rows").all()


def test_an_endpoint_that_goes_down_fails_the_cell_and_the_rest_runs_later(
    folder: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        server.status = 503 if problem.x[0] == last else 200
        return half_up(problem, rng)

    last = run(folder, server.url, points=3, results=folder / "first").searches().query("point == 2")["x"].iloc[0][0]
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # as outside of tests, where a warning is no error
        failed = run(folder, server.url, ends, points=3)
    (sentence,) = failed.report.failures
    assert f"the model {server.url} answered 503 Service Unavailable" in sentence
    assert "also after 2 further requests; start it, or make it faster" in sentence
    assert "the request is sent again (registry/endpoint.py; raised 2 times)" in capsys.readouterr().err
    server.status = 200
    assert run(folder, server.url, points=3).report.searches_run == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda data: ["no"], r"answered 1 predictions for \d+ rows; it must answer one class per row"),
        (lambda data: [{"class": "no"}] * len(data), "for a row; a class is a string, a number or a boolean"),
        (lambda data: "no", 'it must answer {"predictions"'),
        (lambda data: ["perhaps"] * len(data), "the model's classes are 'perhaps'; those of the data set"),
    ],
)
def test_a_wrong_answer_of_an_endpoint_is_named(
    folder: Path, server: Server, answer: Callable[[Any], object], sentence: str
) -> None:
    server.answer = answer
    (failure,) = run(folder, server.url, points=1).report.failures
    assert pd.Series([failure]).str.contains(sentence).all()


def test_an_endpoint_that_refuses_or_is_not_there_is_named(folder: Path, server: Server) -> None:
    server.status = 400
    (failure,) = run(folder, server.url, points=1).report.failures
    assert "refused the rows: 400 Bad Request" in failure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (failure,) = run(folder, "http://127.0.0.1:9/predict", points=1, results=folder / "down").report.failures
    assert "cannot be reached (ConnectionRefusedError" in failure


def test_an_endpoint_that_is_slow_is_named(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.05)
    released = threading.Event()
    server.answer = lambda data: released.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (failure,) = run(folder, server.url, points=1).report.failures
    released.set()
    assert "did not answer within 0.05 s, also after 2 further requests" in failure
