"""Reading a tracking server over HTTP, by MLflow's REST interface: every answer has a size limit.

MLflow's own client reads answers and artifacts of any size; here nothing is kept beyond the limit that was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from cfbench_reporters.reading import PAGE, StoredRun, UnfitFileError
from cfbench_reporters.store import ForeignAnswerError

_MOST_ANSWER = 64 * 2**20
_BLOCK = 2**16
_RUN_ID = re.compile(r"[0-9a-zA-Z_-]{1,64}")

T = TypeVar("T")


class ServerStore:
    """A tracking server.

    Parameters
    ----------
    address : str
        Its address, ``http://`` or ``https://``; MLflow's environment variables hold user names and tokens.
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
        """Return a file of a run; UnfitFileError says why it cannot be had."""
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
