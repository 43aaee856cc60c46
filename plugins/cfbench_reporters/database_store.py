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
        """Return a file of a run; UnfitFileError says why it cannot be had."""
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
