"""Ctrl-C once ends a run cleanly, twice at once; the same command goes on."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.faults.studies import Study, plugins

if TYPE_CHECKING:
    from tests.faults.gates import Gate

pytestmark = pytest.mark.slow

ENDED = (130, -signal.SIGINT)
"""After one signal the command ends by itself; after a second one it ends of it, which a shell shows as 130, too."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_once_ends_the_run_cleanly(study: Study, gate: Gate, number: signal.Signals) -> None:
    study.searchers = ("honest", "waits")
    whole = study.undisturbed()
    gate.close_for("search")
    command = study.begin()
    assert gate.arrival() == command.number
    command.kill(number)
    assert command.wait() == 130
    assert "every finished search is in the record; go on with: cfbench run --dataset toy" in command.said()
    before = study.done()
    gate.open_for_the_next("search")
    code, said = study.run()
    assert code == 0
    assert f"{8 - len(before)} searches run" in said
    assert study.digest() == whole


def test_ctrl_c_is_held_back_while_a_reporter_works_and_a_second_one_ends_the_run_at_once(
    study: Study, gate: Gate
) -> None:
    study.folds = (0, 1)
    whole = study.undisturbed()
    gate.close_for("report")
    command = study.begin()
    gate.arrival()
    sent = 0
    while sent < 100:
        command.kill(signal.SIGINT)
        sent += 1
        if command.is_over(0.3):
            break
    assert sent > 1
    assert command.wait() == -signal.SIGINT
    assert "go on with: cfbench run --dataset toy" in command.said()
    assert len(study.done()) == 4
    gate.open_for_the_next("report")
    assert study.run()[0] == 0
    assert study.digest() == whole


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("gaps", [(0.0,), (0.002, 0.002), (0.02, 0.02), (0.1, 0.1)])
def test_ctrl_c_at_any_moment_and_number_ends_everybody_with_how_to_go_on(
    study: Study, gate: Gate, workers: int, gaps: tuple[float, ...]
) -> None:
    study.searchers = ("honest", "waits")
    whole = study.undisturbed()
    gate.close_for("search")
    command = study.begin("--workers", str(workers))
    gate.arrival()
    command.kill_all(signal.SIGINT)  # as a terminal does: to workers as well
    for gap in gaps:
        time.sleep(gap)
        command.kill_all(signal.SIGINT)
    assert command.wait() in ENDED
    assert command.is_alone()
    said = command.said()
    assert "go on with: cfbench run --dataset toy" in said
    assert "Traceback" not in said
    assert "resource_tracker" not in said
    gate.open_for_the_next("search")
    assert study.run()[0] == 0
    assert study.digest() == whole


@pytest.mark.parametrize("then", [signal.SIGHUP, signal.SIGINT])
def test_two_signals_while_models_are_fitted_say_how_to_go_on(study: Study, gate: Gate, then: signal.Signals) -> None:
    gate.close_for("fit")
    command = study.command("fit", "--dataset", "toy", "--model", "slow-to-fit", "--fold", "0", *plugins())
    gate.arrival()
    command.kill(signal.SIGTERM)
    command.kill(then)  # systemd sends both at once
    assert command.wait() in ENDED
    assert "go on with: cfbench fit --dataset toy" in command.said()
    assert "Abort" not in command.said()


def test_ctrl_c_while_models_are_fitted_says_how_to_go_on(study: Study, gate: Gate) -> None:
    gate.close_for("fit")
    command = study.command("fit", "--dataset", "toy", "--model", "slow-to-fit", "--fold", "0", *plugins())
    gate.arrival()
    command.kill(signal.SIGINT)
    assert command.wait() == 130
    assert "interrupted; what was finished is kept; go on with: cfbench fit --dataset toy" in command.said()
