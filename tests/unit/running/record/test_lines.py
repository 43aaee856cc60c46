"""Lines that prove themselves, and files of them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.record.linefile import LineFile
from cfbench.record.lines import encode_line, pack, scan, walk

VALUES: list[Any] = [{"a": 1}, ["é\n", 0.1], "x" * 50]
PAYLOADS = [pack(value) for value in VALUES]
LINES = [encode_line(payload) for payload in PAYLOADS]


def payloads(data: bytes) -> list[bytes]:
    return [line.payload for line in scan(data).lines]


def test_a_line_is_length_checksum_and_json() -> None:
    # cbf43926 is the published check value of this CRC, that of the nine digits
    assert encode_line(b"123456789") == b"9 cbf43926 123456789\n"
    assert payloads(b"".join(LINES)) == PAYLOADS


def test_nan_and_infinities_become_strings_that_float_reads() -> None:
    text = pack([float("nan"), float("inf"), float("-inf"), -0.0, 0.1, {"a": (float("inf"),)}])
    assert text == b'["nan","inf","-inf",-0.0,0.1,{"a":["inf"]}]'


def test_a_tail_torn_at_any_byte_is_dropped() -> None:
    whole = LINES[0] + LINES[1]
    for length in range(len(LINES[2])):
        found = scan(whole + LINES[2][:length])
        assert [line.payload for line in found.lines] == PAYLOADS[:2]
        assert found.end == len(whole)
        assert found.damaged == []


@pytest.mark.parametrize("bit", [0, 3, 7])
def test_any_damaged_byte_of_a_middle_line_costs_no_other_line(bit: int) -> None:
    whole = b"".join(LINES)
    for position in range(len(LINES[0]), len(LINES[0]) + len(LINES[1])):
        data = bytearray(whole)
        data[position] ^= 1 << bit
        found = scan(bytes(data))
        kept = [line.payload for line in found.lines]
        assert PAYLOADS[0] in kept
        assert PAYLOADS[2] in kept
        assert set(kept) <= set(PAYLOADS)
        assert 2 in found.damaged
        assert found.end == len(whole)


@given(st.binary(max_size=300))
def test_any_bytes_can_be_scanned(data: bytes) -> None:
    found = scan(data)
    assert found.end == data.rfind(b"\n") + 1


def test_an_append_cuts_off_a_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.log"
    LineFile(path).append(PAYLOADS[0])
    path.write_bytes(path.read_bytes() + LINES[1][:-1])
    LineFile(path).append(PAYLOADS[2])
    assert path.read_bytes() == LINES[0] + LINES[2]


def test_an_append_tells_where_its_line_stands(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "file.log")
    places = [file.append(payload) for payload in PAYLOADS]
    data = file.path.read_bytes()
    assert [data[line.start : line.stop] for line in places] == LINES


def test_another_writers_torn_line_is_noticed_between_two_appends(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "file.log")
    file.append(PAYLOADS[0])
    with file.path.open("ab") as other:
        other.write(b"torn")
    file.append(PAYLOADS[1])
    assert payloads(file.path.read_bytes()) == PAYLOADS[:2]


def test_a_line_that_finds_no_room_leaves_none_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "file.log"
    source = (
        "import resource, sys; from pathlib import Path; from cfbench.record.linefile import LineFile\n"
        "file = LineFile(Path(sys.argv[1])); file.append(b'1234')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))\n"
        "try: file.append(b'x' * 100)\n"
        "except OSError as error: print(error.errno)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "file.append(b'5678')\n"
    )
    done = subprocess.run([sys.executable, "-c", source, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "27\n"  # EFBIG, as a full disk's ENOSPC
    assert payloads(path.read_bytes()) == [b"1234", b"5678"]


def test_a_rewrite_replaces_the_file_and_appends_go_on(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "file.log")
    file.append(PAYLOADS[0])
    file.rewrite([PAYLOADS[1]])
    file.append(PAYLOADS[2])
    assert [json.loads(payload) for payload in payloads(file.path.read_bytes())] == VALUES[1:]
    file.remove()
    file.remove()
    assert file.read().lines == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [0, 3, 14, 40, 60, 90])
def test_walking_a_file_finds_what_scanning_it_whole_finds(place: int) -> None:
    data = b"".join(encode_line(pack({"n": n, "text": "x" * n})) for n in (1, 30, 2)) + b"17 0000"
    spoilt = bytearray(data)
    spoilt[place] ^= 1
    for content in (data, bytes(spoilt)):
        whole, walked = scan(content), list(walk(io.BytesIO(content)))
        assert [line for _, line in walked if line is not None] == whole.lines
        assert [number for number, line in walked if line is None] == whole.damaged
