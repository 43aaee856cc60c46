"""Getting the garment workers' table: found, downloaded, verified, or a word about the two ways to get it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from cfbench import DataSource
from cfbench.errors import DataError, UnavailableError
from cfbench.tables import read_csv
from cfbench_datasets.garments import CONTENT_DIGEST, MOST_BYTES, content_digest, garments_table
from tests.plugins.conftest import Serve, answer

NAME = "garments_worker_productivity.csv"

# Three rows; the last repeats the first in all but the unused columns and the outcome.
SMALL = """date,quarter,department,day,team,targeted_productivity,wip,actual_productivity
1/1/2015,Quarter1,sweing,Thursday,8,0.8,1108,0.81
1/1/2015,Quarter1,finishing ,Thursday,1,0.75,,0.8100001
1/2/2015,Quarter1,sweing,Thursday,8,0.80,,0.1
"""


def table_url(serve: Serve, content: bytes) -> str:
    return serve(lambda handler: answer(handler, 200 if content else 404, content)) + "/table.zip"


def zipped(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def digest(tmp_path: Path) -> str:
    (tmp_path / "small.csv").write_text(SMALL)
    return content_digest(read_csv(tmp_path / "small.csv"))


def test_a_download_is_prepared_and_kept(serve: Serve, tmp_path: Path, digest: str) -> None:
    cache = tmp_path / "cache"
    url = table_url(serve, zipped({"other.txt": "x", NAME: SMALL.replace("\n", "\r\n")}))
    table = garments_table(DataSource((), cache), url, digest)
    assert table.header == ("quarter", "department", "day", "team", "targeted_productivity", "productivity")
    assert table.rows == [
        ["Quarter1", "sweing", "Thursday", "8", "0.8", "1"],
        ["Quarter1", "finishing", "Thursday", "1", "0.75", "2"],
    ]
    assert [path.name for path in cache.iterdir()] == [NAME]
    offline = garments_table(DataSource((), cache, download=False), url, digest)
    assert offline.rows == table.rows


def test_a_users_folder_comes_first(tmp_path: Path, digest: str) -> None:
    (tmp_path / NAME).write_text(SMALL)
    source = DataSource((tmp_path / "nowhere", tmp_path), tmp_path / "cache", download=False)
    assert len(garments_table(source, "", digest).rows) == 2


def test_a_users_file_that_is_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(SMALL)
    with pytest.raises(DataError, match=f"is not the published table.*expected {CONTENT_DIGEST}"):
        garments_table(DataSource((tmp_path,), tmp_path / "cache"))


def test_a_damaged_cache_is_downloaded_again(serve: Serve, tmp_path: Path, digest: str) -> None:
    (tmp_path / NAME).write_text("damaged")
    with pytest.raises(UnavailableError, match="the copy in the cache is damaged"):
        garments_table(DataSource((), tmp_path, download=False), "", digest)
    url = table_url(serve, zipped({NAME: SMALL}))
    assert len(garments_table(DataSource((), tmp_path), url, digest).rows) == 2
    assert (tmp_path / NAME).read_text() == SMALL


BAD_ARCHIVES = {
    "another table": (zipped({NAME: SMALL.replace("0.75", "0.76")}), "is not the published table"),
    "no member": (zipped({"readme.txt": "x"}), f"the archive holds no {NAME}, only readme.txt"),
    "a member outside": (zipped({f"../{NAME}": SMALL}), f"the archive holds no {NAME}"),
    "no archive": (b"<html>maintenance</html>", "not a zip"),
    "not found": (b"", "404"),
    "unpacks to too much": (zipped({NAME: "x" * (MOST_BYTES + 1)}), f"more than {MOST_BYTES} bytes"),
    "sends too much": (b"x" * (MOST_BYTES + 100_000), f"sends more than {MOST_BYTES} bytes"),
}


@pytest.mark.parametrize(("archive", "reason"), BAD_ARCHIVES.values(), ids=BAD_ARCHIVES.keys())
def test_a_bad_download_leaves_nothing(serve: Serve, tmp_path: Path, archive: bytes, reason: str, digest: str) -> None:
    cache = tmp_path / "a" / "cache"
    with pytest.raises(UnavailableError) as caught:
        garments_table(DataSource((), cache), table_url(serve, archive), digest)
    assert reason in str(caught.value)
    assert_tells_two_ways(str(caught.value))
    assert list((tmp_path / "a").rglob("*")) == [cache]


def test_no_network_tells_the_two_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    # Port 9 of this machine: nobody listens, the refusal comes at once.
    with pytest.raises(UnavailableError) as caught:
        garments_table(DataSource((), tmp_path), "http://127.0.0.1:9/table.zip")
    assert_tells_two_ways(str(caught.value))


def test_without_permission_to_download_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not downloaded yet and downloading is off") as caught:
        garments_table(DataSource((), tmp_path, download=False))
    assert_tells_two_ways(str(caught.value))


def assert_tells_two_ways(message: str) -> None:
    assert "run once with network access" in message
    assert f"put {NAME}" in message
    assert "--data-dir or CFBENCH_DATA_DIR" in message
