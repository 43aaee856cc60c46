"""Reading cells back from a tracking store: which runs are cells, and their files. Nothing is interpreted here.

Whatever a store answers is bounded in time, size and number: it may be slow, broken, or foreign.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from cfbench.errors import TrackingError
from cfbench.tracking import MirroredCell, MirrorListing, shown_address
from cfbench_reporters.cell_run import CELL_TAG, CONTENT_TAG, STUDY_TAG
from cfbench_reporters.store import ForeignAnswerError, UnfitFileError, open_client, talking_to

ANSWER_SECONDS = 60.0
"""A page of runs or a file takes milliseconds; a store that needs longer is given up."""
MOST_RUNS = 200_000
PAGE = 500

T = TypeVar("T")


@dataclass(frozen=True)
class StoredRun:
    """A run as a store lists it."""

    run_id: str
    tags: dict[str, str]
    searches: float  # the run's metric of that name; 0 where there is none
    started: int  # milliseconds since the epoch


class TrackingReader:
    """Reads cells from the store at an address.

    Raises
    ------
    TrackingError
        If the store cannot be opened; also from every method, if it does not answer, or with an error.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._store: DatabaseStore | ServerStore = self._ask(
            lambda: ServerStore(address) if address.startswith(("http://", "https://")) else DatabaseStore(address)
        )

    def listing(self, study: str = "") -> MirrorListing:
        """List the cells of a study, or, where `study` is empty, of all studies that the store holds.

        Where several runs hold a cell, the one with the most searches counts, among them the latest.

        Raises
        ------
        TrackingError
            If there is no such study, or none.
        """
        experiments = self._ask(self._store.experiments)
        wanted = [e for e in experiments if e[1] == study] if study else [e for e in experiments if STUDY_TAG in e[2]]
        if not wanted:
            known = sorted(name for _, name, tags in experiments if STUDY_TAG in tags)
            raise TrackingError(_no_study(shown_address(self._address), study, known, len(experiments)))
        runs = self._all_runs([number for number, _, _ in wanted])
        cells = [run for run in runs if run.tags.get(CELL_TAG)]
        whole = sorted((run for run in cells if run.tags.get(CONTENT_TAG)), key=lambda run: (run.searches, run.started))
        best = {run.tags[CELL_TAG]: run for run in whole}
        return MirrorListing(
            cells=tuple(MirroredCell(run.run_id, key, run.tags[CONTENT_TAG]) for key, run in sorted(best.items())),
            studies=tuple(sorted(name for _, name, _ in wanted)),
            foreign=len(runs) - len(cells),
            unfinished=len(cells) - len(whole),
            doubled=len(whole) - len(best),
        )

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run.

        Raises
        ------
        ValueError
            If the run has no such file, or a larger one.
        """
        return self._ask(partial(self._store.file, run_id, name, most_bytes))

    def _all_runs(self, experiments: list[str]) -> list[StoredRun]:
        runs: dict[str, StoredRun] = {}
        token, seen = "", set[str]()
        while True:
            page, token = self._ask(partial(self._store.page, experiments, token))
            runs |= {run.run_id: run for run in page}
            if not token:
                return list(runs.values())
            if token in seen or len(runs) > MOST_RUNS:
                raise TrackingError(
                    f"the tracking store {shown_address(self._address)} lists runs without an end "
                    f"({len(runs):,} so far): this is no list that can be read"
                )
            seen.add(token)

    def _ask(self, question: Callable[[], T]) -> T:
        with talking_to(self._address, advice="What was fetched before is kept; the same command goes on from there"):
            return _within(ANSWER_SECONDS, question)


def _within(seconds: float, question: Callable[[], T]) -> T:
    """Return the answer, or give up: timeouts of sockets never end where bytes trickle."""
    outcome: list[Any] = []

    def ask() -> None:
        try:
            outcome.append((question(), None))
        except BaseException as error:  # it is raised again in the thread that asked
            outcome.append((None, error))

    thread = threading.Thread(target=ask, daemon=True, name="cfbench-tracking")
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"no whole answer within {seconds:.0f} s")
    answer, error = outcome[0]
    if error is not None:
        raise error
    result: T = answer
    return result


def _no_study(shown: str, study: str, known: list[str], experiments: int) -> str:
    names = ", ".join(repr(name) for name in known[:10]) + (", ..." if len(known) > 10 else "")
    if study and known:
        return f"{shown} has no experiment {study!r}; the studies there: {names}"
    what = f"no experiment {study!r} and no study at all" if study else "no study"
    return (
        f"{shown} holds {what} among its {experiments:,} experiments; `cfbench run --tracking ADDRESS`, or `cfbench "
        "sync` for a record that is there, logs one"
    )


class DatabaseStore:
    """A tracking store in a database: SQLite, PostgreSQL and whatever else SQLAlchemy opens."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = open_client(address, make=False)
        self._places: dict[str, str] = {}  # where the artifacts of the runs are that were listed
        self._listed: tuple[str, dict[str, int]] = ("", {})

    def experiments(self) -> list[tuple[str, str, dict[str, str]]]:
        """Return identifier, name and tags of every active experiment."""
        found, token = [], None
        while True:
            page = self._client.search_experiments(max_results=1000, page_token=token)
            found += [(str(e.experiment_id), str(e.name), dict(e.tags)) for e in page]
            token = page.token
            if not token:
                return found

    def page(self, experiments: list[str], token: str) -> tuple[list[StoredRun], str]:
        """Return a page of runs, and the token of the next one."""
        found = self._client.search_runs(experiments, max_results=PAGE, page_token=token or None)
        self._places |= {run.info.run_id: str(run.info.artifact_uri) for run in found}
        runs = [
            StoredRun(
                run.info.run_id,
                dict(run.data.tags),
                float(run.data.metrics.get("searches", 0.0)),
                int(run.info.start_time or 0),
            )
            for run in found
        ]
        token = found.token or ""
        return runs, token.decode("ascii") if isinstance(token, bytes) else str(token)  # MLflow's databases give bytes

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run; UnfitFileError says why it is unavailable."""
        import mlflow.artifacts

        # By their place: asked by their run, MLflow looks that up five times for each.
        place = self._places.get(run_id) or str(self._client.get_run(run_id).info.artifact_uri)
        sizes = self._sizes(run_id, place)
        if name not in sizes:
            raise UnfitFileError(f"it has no {name} where its artifacts should be")
        if sizes[name] > most_bytes:
            raise UnfitFileError(f"its {name} is larger than {most_bytes:,} bytes")
        with tempfile.TemporaryDirectory() as folder:
            file = mlflow.artifacts.download_artifacts(f"{place}/{name}", dst_path=folder, tracking_uri=self._address)
            return Path(file).read_bytes()

    def _sizes(self, run_id: str, place: str) -> dict[str, int]:
        """List the files of a run, once for all that are read one after the other."""
        import mlflow.artifacts

        if self._listed[0] != run_id:
            files = mlflow.artifacts.list_artifacts(place, tracking_uri=self._address)
            self._listed = (run_id, {file.path.rpartition("/")[2]: file.file_size or 0 for file in files})
        return self._listed[1]


_MOST_ANSWER = 64 * 2**20
_BLOCK = 2**16
_RUN_ID = re.compile(r"[0-9a-zA-Z_-]{1,64}")


class ServerStore:
    """A tracking server.

    `address`: its address, ``http://`` or ``https://``; MLflow's environment variables hold user names and tokens.
    """

    def __init__(self, address: str) -> None:
        import mlflow.utils.credentials

        credentials: Any = mlflow.utils.credentials
        self._credentials = credentials.get_default_host_creds(address.rstrip("/"))

    def experiments(self) -> list[tuple[str, str, dict[str, str]]]:
        """Return identifier, name and tags of every active experiment."""
        found, token = [], ""
        for _ in range(100):
            answer = self._json("experiments/search", {"max_results": 1000, "page_token": token})
            found += _entities(answer, "experiments", lambda e: (str(e["experiment_id"]), str(e["name"]), _pairs(e)))
            token = str(answer.get("next_page_token") or "")
            if not token:
                break
        return found

    def page(self, experiments: list[str], token: str) -> tuple[list[StoredRun], str]:
        """Return a page of runs, and the token of the next one."""
        question = {"experiment_ids": experiments, "max_results": PAGE, "page_token": token}
        answer = self._json("runs/search", question)
        return _entities(answer, "runs", _stored_run), str(answer.get("next_page_token") or "")

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run; UnfitFileError says why it is unavailable."""
        # This way the server reads the artifact, wherever it is kept: a file of its own, a bucket, a proxy.
        status, data = self._bytes("GET", f"/get-artifact?{urlencode({'run_id': run_id, 'path': name})}", most_bytes)
        if status in (401, 403):
            raise ForeignAnswerError(_refused(status))
        if status != 200:
            raise UnfitFileError(f"the server answers {status} for its {name}")
        if len(data) > most_bytes:
            raise UnfitFileError(f"its {name} is larger than {most_bytes:,} bytes")
        return data

    def _json(self, endpoint: str, question: dict[str, Any]) -> dict[str, Any]:
        status, data = self._bytes("POST", f"/api/2.0/mlflow/{endpoint}", _MOST_ANSWER, json=question)
        if status in (401, 403):
            raise ForeignAnswerError(_refused(status))
        if status != 200:
            raise ForeignAnswerError(f"it answers {status} to {endpoint}: {_excerpt(data)}")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        if len(data) > _MOST_ANSWER or not isinstance(answer, dict):
            raise ForeignAnswerError(f"it is no MLflow server: to {endpoint} it answers {_excerpt(data)}")
        return answer

    def _bytes(self, method: str, path: str, most_bytes: int, **body: Any) -> tuple[int, bytes]:
        import mlflow.utils.rest_utils

        rest: Any = mlflow.utils.rest_utils
        response = rest.http_request(
            self._credentials,
            path,
            method,
            stream=True,
            raise_on_status=False,
            respect_retry_after_header=False,  # it may ask for a day
            extra_headers={"Accept-Encoding": "identity"},
            **body,
        )
        with response:
            data = bytearray()
            for block in response.iter_content(_BLOCK):
                data += block
                if len(data) > most_bytes:
                    break
            return int(response.status_code), bytes(data)


def _entities(answer: dict[str, Any], name: str, read: Callable[[Any], T]) -> list[T]:
    try:
        return [read(entity) for entity in answer.get(name, [])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForeignAnswerError(f"its list of {name} is not MLflow's: {type(error).__name__}: {error}") from error


def _stored_run(run: Any) -> StoredRun:
    info, data = run["info"], run.get("data", {})
    run_id = str(info.get("run_id") or info["run_uuid"])
    if not _RUN_ID.fullmatch(run_id):
        raise ForeignAnswerError(f"it lists a run with the identifier {run_id!r:.80}")
    searches = [float(m["value"]) for m in data.get("metrics", []) if m.get("key") == "searches"]
    return StoredRun(run_id, _pairs(data), searches[0] if searches else 0.0, int(info.get("start_time") or 0))


def _pairs(entity: Any) -> dict[str, str]:
    return {str(tag["key"]): str(tag.get("value", "")) for tag in entity.get("tags", [])}


def _refused(status: int) -> str:
    return f"it answers {status}: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"


def _excerpt(data: bytes) -> str:
    text = " ".join(data[:2000].decode("utf-8", "replace").split())
    return repr(text[:120]) if text else "nothing"
