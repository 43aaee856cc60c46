"""A classifier behind an HTTP address, queried with batches of rows in JSON.

The format is that of MLflow's scoring server, so a model that ``mlflow models serve`` serves needs nothing else.
docs/your-own-model.md describes it.
"""

from __future__ import annotations

import http.client
import json
import time
import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cfbench.errors import ModelError, UnavailableError

if TYPE_CHECKING:
    import pandas as pd

BATCH = 500
"""Most rows of one request."""

TIMEOUT = 60.0
"""Seconds that a request may take."""

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before a failed request is sent again; after the last one, the endpoint counts as down."""

BUSY = (429, 502, 503, 504)
"""Statuses of a server that may answer later."""

LONGEST = 200
"""Characters of an answer that a message repeats."""


class Endpoint:
    """A classifier that answers ``POST`` requests with the classes of rows.

    Parameters
    ----------
    url : str
        ``http://HOST:PORT/PATH``, or https.

    Raises
    ------
    ModelError
        If this is not such an address.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ModelError(f"{url!r} is not the address of a model; write http://HOST:PORT/PATH")
        self.url = url

    def predict(self, rows: pd.DataFrame) -> list[Any]:
        """Return the classes of rows, as the endpoint writes them.

        Raises
        ------
        UnavailableError
            If it is down, or too slow, also after a few attempts.
        ModelError
            If it refuses the rows, or its answer is not one class per row.
        """
        answers: list[Any] = []
        with closing(self._connection()) as connection:
            for first in range(0, len(rows), BATCH):
                batch = rows.iloc[first : first + BATCH]
                split = {"columns": [str(name) for name in batch.columns], "data": batch.to_numpy(object).tolist()}
                text = self._post(connection, json.dumps({"dataframe_split": split}))
                answers += self._predictions(text, len(batch))
        return answers

    def _predictions(self, text: str, n: int) -> list[Any]:
        try:
            content = json.loads(text)
        except ValueError:
            raise self._fault(f"answered no JSON: {text[:LONGEST]!r}") from None
        found = content.get("predictions") if isinstance(content, dict) else None
        if not isinstance(found, list):
            raise self._fault(f'answered {text[:LONGEST]!r}; it must answer {{"predictions": [class, ...]}}')
        if len(found) != n:
            raise self._fault(f"answered {len(found)} predictions for {n} rows; it must answer one class per row")
        odd = [one for one in found if not isinstance(one, (str, int, float))]
        if odd:
            raise self._fault(
                f"answered {str(odd[0])[:LONGEST]!r} for a row; a class is a string, a number or a boolean"
            )
        return found

    def _post(self, connection: http.client.HTTPConnection, body: str) -> str:
        """Send a request, again after a pause where that may help, and return the answer's text."""
        reason = ""
        for pause in (0.0, *PAUSES):
            if reason:
                warnings.warn(f"{self.url} {reason}; the request is sent again", RuntimeWarning, stacklevel=2)
                time.sleep(pause)
            try:
                status, text = self._request(connection, body)
            except TimeoutError:
                reason = f"did not answer within {TIMEOUT:g} s"
            except (OSError, http.client.HTTPException) as error:
                reason = f"cannot be reached ({type(error).__name__}: {error})"
            else:
                if status < 300:
                    return text
                said = f"{status} {http.client.responses.get(status, '')}: {' '.join(text.split())[:LONGEST]}"
                if status not in BUSY:
                    raise self._fault(f"refused the rows: {said}")
                reason = f"answered {said}"
            connection.close()  # the next request opens it again
        raise UnavailableError(
            f"the model {self.url} {reason}, also after {len(PAUSES)} further requests; start it, or make it faster, "
            "and repeat the command: what is finished is kept"
        )

    def _request(self, connection: http.client.HTTPConnection, body: str) -> tuple[int, str]:
        parts = urlsplit(self.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        assert parts.hostname is not None
        return kind(parts.hostname, parts.port, timeout=TIMEOUT)

    def _fault(self, what: str) -> ModelError:
        return ModelError(f"the model {self.url} {what}")
