"""Reading cells back: from a real MLflow server over HTTP, from a database, and from servers that misbehave."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import TrackingError
from cfbench.record.store import Record
from cfbench.registry import CellFinished
from cfbench.tracking.mirror import fetched_cell, rebuild_record
from cfbench_reporters import reading
from cfbench_reporters.reading import TrackingReader
from tests.cells import put_cell, whole_cell
from tests.databases import record_digest
from tests.plugins.conftest import Handler, Serve, answer
from tests.plugins.tracked import begun_reporter


def _log(address: str, study: str, results: Path, *events: CellFinished) -> None:
    reporter = begun_reporter(address, results, study)
    for event in events:
        reporter.cfbench_cell_finished(event)
    assert reporter.logged == len(events)


def _client(address: str) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=address)


@pytest.fixture
def quick_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")


@pytest.mark.slow
class TestRealServer:
    def test_a_record_goes_over_http_and_comes_back_the_same(self, runs_page: str, tmp_path: Path) -> None:
        address = runs_page.partition("/#/")[0]
        events = [whole_cell(dataset=name) for name in ("wine", "housing")]
        with Record.open(tmp_path / "mine", write=True) as record:
            for event in events:
                put_cell(record, event)
        _log(address, "over-the-wire", tmp_path, *events)
        client = _client(address)
        experiment = client.get_experiment_by_name("over-the-wire").experiment_id
        client.create_run(experiment, run_name="somebody else's")
        client.create_run(experiment, tags={"cfbench.cell": "f" * 32})  # killed before it was whole
        rebuilt = rebuild_record(TrackingReader(address), tmp_path / "theirs", "over-the-wire")
        assert (rebuilt.fetched, rebuilt.listing.foreign, rebuilt.listing.unfinished) == (2, 1, 1)
        assert record_digest(tmp_path / "theirs") == record_digest(tmp_path / "mine")

    def test_paging_past_a_thousand_runs(self, runs_page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(reading, "PAGE", 2)
        address = runs_page.partition("/#/")[0]
        _log(address, "paged", tmp_path, *(whole_cell(dataset=name) for name in "abcde"))
        assert len(TrackingReader(address).listing("paged").cells) == 5

    def test_an_unknown_study_names_those_that_are_there(self, runs_page: str) -> None:
        with pytest.raises(TrackingError, match=r"has no experiment 'qick'; the studies there: .*'quick'"):
            TrackingReader(runs_page.partition("/#/")[0]).listing("qick")


class TestDatabase:
    def test_a_cell_in_two_studies_counts_once_the_larger_one(self, store: Path, tmp_path: Path) -> None:
        address = f"sqlite:///{store}"
        _log(address, "large", store.parent, whole_cell([0.5] * 3))
        _log(address, "small", store.parent, whole_cell([0.5]))
        reader = TrackingReader(address)
        listing = reader.listing()
        assert (listing.studies, listing.doubled) == (("large", "small"), 1)
        (cell,) = listing.cells
        fetched = fetched_cell(cell.key, lambda name, most: reader.file(cell.run_id, name, most))
        assert len(fetched.rows) == 3

    @pytest.mark.slow
    def test_paging_past_five_hundred_runs(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "PAGE", 2)
        _log(f"sqlite:///{store}", "paged", store.parent, *(whole_cell(dataset=name) for name in "abcde"))
        assert len(TrackingReader(f"sqlite:///{store}").listing("paged").cells) == 5

    def test_a_file_beyond_its_limit_or_not_there(self, store: Path) -> None:
        _log(f"sqlite:///{store}", "quick", store.parent, whole_cell())
        reader = TrackingReader(f"sqlite:///{store}")
        (cell,) = reader.listing().cells
        with pytest.raises(ValueError, match="larger than 10 bytes"):
            reader.file(cell.run_id, "searches.parquet", 10)
        with pytest.raises(ValueError, match=r"no measures\.parquet"):
            reader.file(cell.run_id, "measures.parquet", 10)

    def test_no_file_is_made_where_there_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(TrackingError, match="no such file"):
            TrackingReader(f"sqlite:///{tmp_path}/mlflow.db")
        assert list(tmp_path.iterdir()) == []

    def test_no_study(self, store: Path) -> None:
        with pytest.raises(TrackingError, match="holds no study among its 1 experiments"):
            TrackingReader(f"sqlite:///{store}").listing()


@pytest.mark.usefixtures("quick_to_give_up")
class TestServersThatMisbehave:
    def test_down(self, tmp_path: Path) -> None:
        with pytest.raises(TrackingError, match=r"refused.*fetched before is kept"):
            rebuild_record(TrackingReader("http://user:secret@127.0.0.1:1"), tmp_path / "record")

    def test_an_error(self, serve: Serve) -> None:
        address = serve(lambda handler: answer(handler, 500, b'{"message": "the disk is full"}'))
        with pytest.raises(TrackingError, match=r"it answers 500 to experiments/search: .*the disk is full"):
            TrackingReader(address).listing()

    def test_no_way_in(self, serve: Serve) -> None:
        address = serve(lambda handler: answer(handler, 401, b"who are you?"))
        with pytest.raises(TrackingError, match="MLFLOW_TRACKING_USERNAME"):
            TrackingReader(address).listing()

    @pytest.mark.parametrize("said", [b"<html>", b"[]", b"{", b'{"experiments": [{"name": 1}]}', b'{"experiments": 3}'])
    def test_something_else_than_mlflow(self, serve: Serve, said: bytes) -> None:
        address = serve(lambda handler: answer(handler, 200, said))
        with pytest.raises(TrackingError, match=r"no MLflow server|not MLflow's"):
            TrackingReader(address).listing()

    def test_an_answer_without_an_end(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "_MOST_ANSWER", 100_000)
        address = serve(lambda handler: answer(handler, 200, b"[" * 10_000_000))
        with pytest.raises(TrackingError, match="no MLflow server"):
            TrackingReader(address).listing()

    def test_bytes_that_trickle(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "ANSWER_SECONDS", 0.5)

        def trickle(handler: Handler) -> None:
            handler.send_response(200)
            handler.end_headers()
            while True:  # until the reader hangs up
                handler.wfile.write(b"[")
                time.sleep(0.05)

        reader = TrackingReader(serve(trickle))
        with pytest.raises(TrackingError, match="no whole answer within"):
            reader.listing()

    def test_a_list_that_goes_in_circles(self, serve: Serve) -> None:
        experiment = {"experiment_id": "1", "name": "quick", "tags": [{"key": "cfbench.study", "value": "quick"}]}

        def circle(handler: Handler) -> None:
            if handler.path.endswith("experiments/search"):
                answer(handler, 200, json.dumps({"experiments": [experiment]}).encode())
            else:
                answer(handler, 200, b'{"runs": [], "next_page_token": "again"}')

        with pytest.raises(TrackingError, match="without an end"):
            TrackingReader(serve(circle)).listing()

    def test_a_run_that_points_elsewhere(self, serve: Serve) -> None:
        run = {"info": {"run_id": "../../etc", "start_time": 1}, "data": {}}
        experiment = {"experiment_id": "1", "name": "quick", "tags": []}

        def respond(handler: Handler) -> None:
            listed = {"experiments": [experiment]} if "experiments" in handler.path else {"runs": [run]}
            answer(handler, 200, json.dumps(listed).encode())

        with pytest.raises(TrackingError, match=r"identifier '\.\./\.\./etc'"):
            TrackingReader(serve(respond)).listing("quick")

    def test_files_too_large_or_gone(self, serve: Serve) -> None:
        def respond(handler: Handler) -> None:
            answer(handler, 200 if "cell.json" in handler.path else 404, b"x" * 1000)

        reader = TrackingReader(serve(respond))
        assert reader.file("a", "cell.json", 1000) == b"x" * 1000
        with pytest.raises(ValueError, match="larger than 999 bytes"):
            reader.file("a", "cell.json", 999)
        with pytest.raises(ValueError, match=r"answers 404 for its measures\.parquet"):
            reader.file("a", "measures.parquet", 999)


def test_a_run_is_not_whole_while_it_is_rewritten(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"sqlite:///{store}"
    event = whole_cell()
    _log(address, "quick", store.parent, event)
    from cfbench_reporters.cell_files import CellTables

    def fail(_: object) -> None:
        raise OSError("killed here")

    monkeypatch.setattr(CellTables, "files", fail)
    with pytest.raises(TrackingError, match="killed here"):
        _log(address, "quick", store.parent, replace(event, eligible=21))
    listing = TrackingReader(address).listing()
    assert (listing.cells, listing.unfinished) == ((), 1)
