"""Reading a tracking store that is a database, by MLflow's own client."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cfbench_reporters.reading import PAGE, StoredRun, UnfitFileError
from cfbench_reporters.store import open_client


class DatabaseStore:
    """A tracking store in a database: SQLite, PostgreSQL and whatever else SQLAlchemy opens.

    Parameters
    ----------
    address : str
    """

    def __init__(self, address: str) -> None:
        self._client = open_client(address, make=False)

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
        runs = [
            StoredRun(
                run.info.run_id,
                dict(run.data.tags),
                float(run.data.metrics.get("searches", 0.0)),
                int(run.info.start_time or 0),
            )
            for run in found
        ]
        return runs, str(found.token or "")

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run; UnfitFileError says why it cannot be had."""
        sizes = {artifact.path: artifact.file_size for artifact in self._client.list_artifacts(run_id)}
        if name not in sizes:
            raise UnfitFileError(f"it has no {name} where its artifacts should be")
        if (sizes[name] or 0) > most_bytes:
            raise UnfitFileError(f"its {name} is larger than {most_bytes:,} bytes")
        with tempfile.TemporaryDirectory() as folder:
            return Path(self._client.download_artifacts(run_id, name, folder)).read_bytes()
