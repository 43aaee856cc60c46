from __future__ import annotations

import json
from pathlib import Path

import pytest

from cfbench.errors import RecordError, TrackingError
from cfbench.tracking.addresses import (
    Remembered,
    remember_tracking,
    remembered_tracking,
    shown_address,
    sqlite_path,
    tracking_address,
)


@pytest.fixture(autouse=True)
def _no_ambient_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


class TestAddress:
    def test_the_default_is_an_absolute_file_in_the_results(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert tracking_address("", Path("results")) == f"sqlite:///{tmp_path}/results/mlflow.db"

    def test_the_environment_comes_before_the_default_and_after_the_study(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
        assert tracking_address("", tmp_path) == "http://127.0.0.1:5000"
        assert tracking_address("sqlite:////elsewhere/runs.db", tmp_path) == "sqlite:////elsewhere/runs.db"
        assert tracking_address("none", tmp_path) == ""

    @pytest.mark.parametrize(
        ("configured", "expected"),
        [
            ("sqlite:///runs.db", "sqlite:///{cwd}/runs.db"),
            ("sqlite:///./s.db?timeout=5", "sqlite:///{cwd}/s.db?timeout=5"),
            ("sqlite+pysqlite:///s", "sqlite+pysqlite:///{cwd}/s"),
            ("sqlite:///:memory:", "sqlite:///:memory:"),
            ("postgresql://127.0.0.1/runs.db", "postgresql://127.0.0.1/runs.db"),
        ],
    )
    def test_relative_files_become_absolute(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: str, expected: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert tracking_address(configured, tmp_path / "results") == expected.format(cwd=tmp_path)

    @pytest.mark.parametrize("name", ["what?", "100%25"])
    def test_a_directory_that_an_address_cannot_hold(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(TrackingError, match="--tracking none"):
            tracking_address("", tmp_path / name)

    def test_parts(self) -> None:
        assert sqlite_path("sqlite:////a b/c.db?mode=ro") == Path("/a b/c.db")
        assert sqlite_path("http://127.0.0.1:5000") is None
        assert shown_address("https://me:secret@example.org/x@y") == "https://example.org/x@y"
        assert shown_address("sqlite:////a@b/c.db") == "sqlite:////a@b/c.db"


class TestRemembering:
    def test_study_and_address(self, tmp_path: Path) -> None:
        remember_tracking(tmp_path, "Übung", "http://127.0.0.1:5000")
        assert remembered_tracking(tmp_path) == Remembered("Übung", "http://127.0.0.1:5000")
        remember_tracking(tmp_path, "next", "")
        assert remembered_tracking(tmp_path) == Remembered("next", "")
        assert [path.name for path in tmp_path.iterdir()] == ["tracking.json"]

    def test_nothing_to_remember(self, tmp_path: Path) -> None:
        assert remembered_tracking(tmp_path) is None
        assert remembered_tracking(tmp_path / "nowhere") is None

    def test_a_directory_that_moves_takes_its_store_along(self, tmp_path: Path) -> None:
        (tmp_path / "old").mkdir()
        remember_tracking(tmp_path / "old", "quick", tracking_address("", tmp_path / "old"))
        (tmp_path / "old").rename(tmp_path / "new")
        assert remembered_tracking(tmp_path / "new") == Remembered("quick", f"sqlite:///{tmp_path}/new/mlflow.db")

    def test_credentials_are_not_written_and_come_back_from_the_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        remember_tracking(tmp_path, "quick", "postgresql://me:secret@127.0.0.1/runs")
        assert "secret" not in (tmp_path / "tracking.json").read_text()
        assert remembered_tracking(tmp_path) == Remembered("quick", "postgresql://127.0.0.1/runs")
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:secret@127.0.0.1/runs")
        assert remembered_tracking(tmp_path) == Remembered("quick", "postgresql://me:secret@127.0.0.1/runs")

    @pytest.mark.parametrize("content", ["{", "[]", json.dumps({"study": "quick"}), '{"study": 1, "tracking": ""}'])
    def test_a_damaged_file(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "tracking.json").write_text(content)
        with pytest.raises(RecordError, match=r"tracking\.json is unreadable.*cfbench sync"):
            remembered_tracking(tmp_path)

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(RecordError, match=r"tracking\.json cannot be written"):
            remember_tracking(tmp_path / "file", "quick", "")
