"""The user's cache: private, atomic, and never trusted blindly."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.caches import cache_dir, load_object, private_folder, read_trusted, store_object
from cfbench.errors import UnavailableError
from cfbench.files import write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class Bomb:
    """Unpickling it shows that something was unpickled that should not have been."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.trace,)


def test_the_cache_is_where_the_environment_says_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "deep" / "cache"))
    assert cache_dir() == tmp_path / "deep" / "cache"
    assert mode(cache_dir()) == 0o700


def test_without_the_variable_it_is_the_users_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CFBENCH_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir().is_relative_to(tmp_path)
    assert cache_dir().name == "cfbench"


def test_a_cache_that_cannot_be_made_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(UnavailableError, match=r"cannot be made: Not a directory.* Set CFBENCH_CACHE_DIR"):
        cache_dir()


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "models")
    assert mode(folder) == 0o700
    folder.chmod(0o770)
    with pytest.raises(UnavailableError, match=r"may be written by others \(mode 0770\)"):
        private_folder(folder)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = private_folder(tmp_path / "models")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)  # for the folder, I am somebody else now
    with pytest.raises(UnavailableError, match=f"belongs to user {me}, not to you"):
        private_folder(folder)


def test_objects_come_back_and_their_files_are_private(tmp_path: Path) -> None:
    path = tmp_path / "object"
    store_object(path, {"a": [1, 2.5]})
    assert load_object(path) == {"a": [1, 2.5]}
    assert mode(path) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["object"]


def test_a_missing_object_is_none_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert load_object(tmp_path / "object") is None
    assert not caplog.records


def cut_to(size: int) -> Callable[[Path, Path], None]:
    def cut(path: Path, _: Path) -> None:
        path.write_bytes(path.read_bytes()[:size])

    return cut


def replace_content(path: Path, trace: Path) -> None:
    store_object(path, "harmless")
    path.write_bytes(path.read_bytes()[:16] + pickle.dumps(Bomb(trace)))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        *((cut_to(size), "is damaged") for size in (0, 3, 16, -1)),
        (replace_content, "is damaged"),
        (lambda path, _: path.chmod(0o602), "may be written by others (mode 0602)"),
    ],
)
def test_an_object_that_cannot_be_trusted_is_reported_and_never_unpickled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: Callable[[Path, Path], None], words: str
) -> None:
    path, trace = tmp_path / "object", tmp_path / "trace"
    store_object(path, Bomb(trace))
    harm(path, trace)
    assert load_object(path) is None
    assert words in caplog.text
    assert not trace.exists()


def test_a_file_of_another_user_is_never_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, trace = tmp_path / "object", tmp_path / "trace"
    store_object(path, Bomb(trace))
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert load_object(path) is None
    assert f"belongs to user {me}" in caplog.text
    assert not trace.exists()


def test_a_symbolic_link_is_not_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store_object(tmp_path / "target", 1)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert read_trusted(tmp_path / "link") is None
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "named pipe"])
def test_what_is_no_file_is_reported_and_not_waited_for(
    tmp_path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "object"
    make(path)
    path.chmod(0o700)
    assert load_object(path) is None
    assert "is no file; it is not used but made again" in caplog.text
    store_object(path, 1)  # over a directory it cannot be kept, which is no error


def test_an_object_of_a_class_that_is_gone_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "object"
    store_object(path, Vanishing())
    del globals()["Vanishing"]
    assert load_object(path) is None
    assert "cannot be read (AttributeError" in caplog.text


class Vanishing:
    """A class that a later version no longer has."""


def test_a_cache_that_cannot_be_written_costs_nothing_but_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    store_object(tmp_path / "file" / "object", 1)
    assert "cannot keep" in caplog.text


def test_a_write_that_fails_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "inside").touch()
    with pytest.raises(OSError, match="directory"):
        write_atomically(folder, b"new")  # a file cannot replace a folder
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


WRITER = """
import sys
from collections.abc import Callable
from pathlib import Path
from cfbench.files import write_atomically
for _ in range(30):
    write_atomically(Path(sys.argv[1]), sys.argv[2].encode() * 100_000)
"""


@pytest.mark.slow
def test_two_processes_that_write_one_file_never_leave_a_mixture(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"a" * 100_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), letter]) for letter in "ab"]
    while any(writer.poll() is None for writer in writers):
        assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
