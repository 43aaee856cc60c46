"""Two runs on one results directory: the second is refused with the first one's name, and both have what they had."""

from __future__ import annotations

import json
import signal
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.gates import Gate
    from tests.faults.studies import Study

pytestmark = pytest.mark.slow


def test_a_second_run_is_refused_and_the_first_goes_on(study: Study, gate: Gate) -> None:
    study.searchers = ("honest", "waits")
    whole = study.undisturbed()
    gate.close_for("search")
    first = study.begin()
    gate.arrival()
    code, said = study.run()
    assert code == 1
    assert f"process {first.number} on {socket.gethostname()} has been writing to it since" in said
    assert "Wait for its end, stop it, or use another --results directory" in said
    board = study.command("leaderboard", "--results", str(study.results))  # reading needs no lock
    assert board.wait() == 0
    gate.open("search")
    assert first.wait() == 0
    assert study.digest() == whole


def test_the_lock_of_a_killed_run_is_taken_over(study: Study, gate: Gate) -> None:
    study.searchers = ("honest", "waits")
    whole = study.undisturbed()
    gate.close_for("search")
    first = study.begin()
    gate.arrival()
    first.kill(signal.SIGKILL)
    first.wait()
    assert json.loads((study.results / "lock").read_text())["pid"] == first.number
    gate.open_for_the_next("search")
    assert study.run()[0] == 0
    assert study.digest() == whole
