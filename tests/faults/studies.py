"""A study in a folder of its own, and what its record says beside an undisturbed one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cfbench.record.schema import TIME_COLUMNS
from cfbench.record.store import Record
from tests.databases import record_digest
from tests.faults.commands import Command, start

HERE = Path(__file__).parent
PLUGINS = (HERE.parent / "toys" / "toy_plugin.py", HERE / "fault_plugin.py")


@dataclass
class Study:
    """A study in a folder of its own, and ways to run it.

    `records` is the folder of the records of studies that nothing has happened to.
    """

    folder: Path
    records: Path
    searchers: tuple[str, ...] = ("honest",)
    model: str = "threshold"
    folds: tuple[int, ...] = (0,)
    points: int = 2
    repetitions: int = 2
    workers: int = 1
    time_limit: str = "none"
    tracking: str = "none"
    environment: dict[str, str] = field(default_factory=dict)
    _started: list[Command] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    def begin(self, *more: str, results: Path | None = None, **limits: int) -> Command:
        """Start ``cfbench run``; limits are those of `resource`, by their names."""
        words = ["run", "--dataset", "toy", "--model", self.model, "--metric", "success"]
        words += plugins()
        words += [word for name in self.searchers for word in ("--searcher", name)]
        words += [word for fold in self.folds for word in ("--fold", str(fold))]
        words += ["--points", str(self.points), "--repetitions", str(self.repetitions)]
        words += ["--workers", str(self.workers), "--time-limit", self.time_limit, "--tracking", self.tracking]
        return self.command(*words, "--results", str(results or self.results), *more, **limits)

    def command(self, *words: str, **limits: int) -> Command:
        """Start any command of cfbench."""
        number = len(self._started) + 1
        environment = {
            "CFBENCH_CACHE_DIR": str(self.folder / "cache"),
            "CFBENCH_TEST_GATE": str(self.gate),
            "COLUMNS": "300",
            **self.environment,
        }
        streams = self.folder / f"out-{number}", self.folder / f"err-{number}"
        self._started.append(start(words, self.folder, streams, environment, limits))
        return self._started[-1]

    def end(self) -> None:
        """Leave no process behind, whatever the test has found."""
        for command in self._started:
            command.kill_all()

    def run(self, *more: str, **options: Any) -> tuple[int, str]:
        """Run to the end; return the exit code and what was said on stderr."""
        command = self.begin(*more, **options)
        return command.wait(), command.said()

    def undisturbed(self) -> dict[str, str]:
        """Return the digest of a record of the same study that nothing has happened to."""
        results = self._whole()
        if not results.exists():
            assert self.run(results=results)[0] == 0
        return record_digest(results)

    def _whole(self) -> Path:
        settings = [*self.searchers, self.model, *self.folds, self.points, self.repetitions, self.time_limit]
        return self.records / "_".join(map(str, settings))

    def digest(self) -> dict[str, str]:
        return record_digest(self.results)

    def spoilt(self) -> list[str]:
        """Return what differs from the undisturbed record, of cells and of rows, times aside."""
        whole = self.undisturbed()
        if self.digest() == whole:
            return []
        disturbed, expected = (_said_in(folder) for folder in (self.results, self._whole()))
        assert disturbed != expected, "the digests differ, and nothing that they are of"
        return [
            f"{where}: {disturbed.get(where)} for {expected.get(where)}"
            for where in sorted(disturbed | expected)
            if disturbed.get(where) != expected.get(where)
        ]

    def done(self) -> dict[tuple[str, int, int], str]:
        """Return the searches that the record holds, with their statuses."""
        with Record.open(self.results) as record:
            keys = {*record.summaries(), *record.pending()}
            return {(key, *search): status for key in keys for search, status in record.done(key).items()}


def plugins() -> list[str]:
    """Return the options with which a command has the toys and the searchers that do harm."""
    return [word for path in PLUGINS for word in ("--plugin", str(path))]


def _said_in(results: Path) -> dict[str, str]:
    """Return all that a digest of the record is of, value by value."""
    said = {}
    with Record.open(results) as record:
        for key in sorted(record.keys()):
            recorded = record.cell_of(key)
            assert recorded.cell is not None
            one = recorded.cell
            said[key] = repr((asdict(one.info), one.content, one.eligible))
            for row in recorded.finished.values():
                where = f"{key} point {row['point']} repetition {row['repetition']}"
                said |= {f"{where} {name}": repr(value) for name, value in row.items() if name not in TIME_COLUMNS}
        assert record.problems == []
    return said
