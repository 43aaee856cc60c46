"""The productivity data set: a table of the UCI repository that is found or downloaded, never shipped.

References
----------
Imran et al., "Mining the productivity data of the garment industry", 2021; UCI data set 597, DOI 10.24432/C51S6D.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from cfbench import DataSource
from cfbench.digests import digest_of
from cfbench.errors import DataError, UnavailableError
from cfbench.tables import TextTable, read_csv

TABLE_NAME = "garments_worker_productivity.csv"
URL = "https://archive.ics.uci.edu/static/public/597/productivity+prediction+of+garment+employees.zip"

CONTENT_DIGEST = "a5c896a0d91300d292ae413369e3ffaa"
"""Digest of the used columns, as numbers and stripped text, whatever line endings, quoting and unused dates."""

MOST_BYTES = 2_000_000
"""The table has 95 kB; a server that sends more than this is not sending the table."""

SECONDS_TO_CONNECT, SECONDS_BETWEEN_BYTES = 5.0, 10.0

TEXT_COLUMNS = ("quarter", "department", "day")
UNUSED_COLUMNS = ("date", "wip")
"""wip is empty for the whole finishing department."""

OUTCOME = "actual_productivity"


def garments_table(source: DataSource, url: str = URL, expected: str = CONTENT_DIGEST) -> TextTable:
    """Return the prepared table, from the user's folders, from the cache, or downloaded from `url` into the cache.

    Raises
    ------
    UnavailableError
        If the table is unavailable in all of these ways; the message names them.
    DataError
        If a user's file is not that table.
    """
    for folder in source.data_dirs:
        if (folder / TABLE_NAME).is_file():
            return prepared(verified(read_csv(folder / TABLE_NAME), expected))
    cached = source.cache_dir / TABLE_NAME
    try:
        return prepared(verified(read_csv(cached), expected))
    except DataError as error:
        if not source.download:
            state = f"the copy in the cache is damaged ({error})" if cached.exists() else "it is not downloaded yet"
            raise _unavailable(f"{state} and downloading is off", url) from error
    return prepared(download(cached, url, expected))


def download(destination: Path, url: str, expected: str) -> TextTable:
    """Download the zip at `url`, verify its table, and save the table at `destination`.

    Nothing is extracted by the archive's own paths: the one member is read by its name, into memory.

    Raises
    ------
    UnavailableError
        With the two ways to get the table, and what went wrong with this one.
    """
    import pooch

    # It would tell of a scratch file and of a hash; the content's digest is what is checked here.
    pooch.get_logger().setLevel("WARNING")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=destination.parent) as scratch:
            archive = pooch.retrieve(url, known_hash=None, fname="table.zip", path=scratch, downloader=_fetch)
            unpacked = Path(scratch) / TABLE_NAME
            unpacked.write_bytes(_member(Path(archive)))
            table = verified(read_csv(unpacked), expected)
            unpacked.replace(destination)
    # requests' errors are OSErrors; pooch and zipfile add these two.
    except (OSError, ValueError, zipfile.BadZipFile, DataError) as error:
        raise _unavailable(f"downloading it failed ({error})", url) from error
    return table


def verified(table: TextTable, expected: str) -> TextTable:
    """Return `table` if it is the published one, whatever its line endings and quoting.

    Raises
    ------
    DataError
        If its columns or its content differ.
    """
    digest = content_digest(table)
    if digest != expected:
        raise DataError(
            f"{table.origin} is not the published table of garment workers' productivity: the digest of its content is "
            f"{digest}, expected {expected}. Remove it or put the unchanged {TABLE_NAME} of {URL} there"
        )
    return table


def content_digest(table: TextTable) -> str:
    """Return the digest of the header and of the cells in use, as numbers where they are numbers."""
    used = [name for name in table.header if name not in UNUSED_COLUMNS]
    return digest_of([[name, [_parsed(cell) for cell in table.column(name)]] for name in used])


def prepared(table: TextTable) -> TextTable:
    """Prepare the table as the paper does.

    Drop the unused columns, then every row that repeats an earlier one in all columns except the outcome (one row),
    and divide the outcome into three classes: at most 0.70, at most 0.81, above.
    """
    used = [name for name in table.header if name not in (*UNUSED_COLUMNS, OUTCOME)]
    rows, lines, seen = [], [], set()
    columns = [table.column(name) for name in used]
    for line, productivity, *cells in zip(table.lines, table.column(OUTCOME), *columns, strict=True):
        content = tuple(_parsed(cell) for cell in cells)  # as the digest sees it: 0.8 and 0.80 are the same
        if content not in seen:
            seen.add(content)
            rows.append([*cells, _class_of(float(productivity))])
            lines.append(line)
    return TextTable(table.origin, (*used, "productivity"), rows, tuple(lines))


def _class_of(productivity: float) -> str:
    return str(int(productivity > 0.70) + int(productivity > 0.81))


def _parsed(cell: str) -> str | float:
    try:
        return float(cell)
    except ValueError:
        return cell


def _fetch(url: str, output_file: str, pooch_object: object) -> None:  # noqa: ARG001 - as pooch calls it
    """Download for pooch, with limits of time and size."""
    import requests

    left = MOST_BYTES
    with (
        requests.get(url, stream=True, timeout=(SECONDS_TO_CONNECT, SECONDS_BETWEEN_BYTES)) as response,
        Path(output_file).open("wb") as file,
    ):
        response.raise_for_status()
        for chunk in response.iter_content(chunk_size=65_536):
            left -= len(chunk)
            if left < 0:
                raise ValueError(f"the server sends more than {MOST_BYTES} bytes")
            file.write(chunk)


def _member(archive: Path) -> bytes:
    with zipfile.ZipFile(archive) as members:
        if TABLE_NAME not in members.namelist():
            raise ValueError(
                f"the archive holds no {TABLE_NAME}, only {', '.join(members.namelist()[:5]) or 'nothing'}"
            )
        # The size that an archive declares is a claim: reading stops by itself.
        with members.open(TABLE_NAME) as member:
            content = member.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"its {TABLE_NAME} unpacks to more than {MOST_BYTES} bytes")
    return content


def _unavailable(reason: str, url: str) -> UnavailableError:
    return UnavailableError(
        f"data set 'productivity' is not shipped and is unavailable here: {reason}. Two ways to get it: run once with "
        f"network access, and it is downloaded from {url} into the cache; or put {TABLE_NAME} from that archive into a "
        f"folder and name the folder with --data-dir or CFBENCH_DATA_DIR"
    )
