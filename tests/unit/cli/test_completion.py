"""``cfbench --install-completion``: where the script is written, and what a shell then completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.cli import cli
from cfbench.errors import CfbenchError

PLACES = {
    "bash": ".local/share/bash-completion/completions/cfbench",
    "zsh": ".local/share/zsh/site-functions/_cfbench",
    "fish": ".config/fish/completions/cfbench.fish",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "BASH_COMPLETION_USER_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("shell", [pytest.param("bash", marks=pytest.mark.slow), "zsh", "fish"])
def test_the_script_is_written_where_the_shell_looks(shell: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    for arguments in ([], [shell]):
        result = CliRunner().invoke(cli, ["--install-completion", *arguments])
        assert result.exit_code == 0, result.output
        script = home / PLACES[shell]
        assert result.output.startswith(f"Wrote {script}. ")
        assert f"_CFBENCH_COMPLETE={shell}_complete" in script.read_text(encoding="utf-8")
        script.unlink()


@pytest.mark.slow
def test_the_users_own_folders_are_respected(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    monkeypatch.setenv("BASH_COMPLETION_USER_DIR", str(home / "mine"))
    for shell in ("fish", "bash"):
        assert CliRunner().invoke(cli, ["--install-completion", shell]).exit_code == 0
    assert (home / "settings/fish/completions/cfbench.fish").is_file()
    assert (home / "mine/completions/cfbench").is_file()


@pytest.mark.parametrize("shell", ["tcsh", ""])
def test_another_shell_is_refused_with_those_that_are_known(
    shell: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", shell)
    result = CliRunner().invoke(cli, ["--install-completion"])
    assert isinstance(result.exception, CfbenchError)
    assert f"the shell {shell!r}; name one of bash, zsh, fish" in str(result.exception)
    assert not list(home.iterdir())


@pytest.fixture
def command(home: Path) -> Path:
    """Make a command ``cfbench`` in a folder of its own."""
    script = home / "bin" / "cfbench"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from cfbench.cli import main; main()" "$@"\n')
    script.chmod(0o755)
    return script


@pytest.mark.slow
def test_bash_completes_commands_and_options(home: Path, command: Path) -> None:
    assert CliRunner().invoke(cli, ["--install-completion", "bash"]).exit_code == 0
    lines = f"""
        source '{home / PLACES["bash"]}'
        completed() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _cfbench_completion cfbench; }}
        completed cfbench lea; echo "${{COMPREPLY[@]}}"
        completed cfbench datasets sh; echo "${{COMPREPLY[@]}}"
        completed cfbench merge --res; echo "${{COMPREPLY[@]}}"
        completed cfbench unknown --res; echo "${{COMPREPLY[@]}}."
    """
    environment = os.environ | {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", lines], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[:4] == ["leaderboard", "show", "--results", "."]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "words", "answer"),
    [("zsh", "cfbench lea", "plain\nleaderboard\nShow the leaderboard of a record."), ("fish", "cfbench", "plain")],
)
def test_the_other_shells_are_answered(shell: str, words: str, answer: str, command: Path) -> None:
    asked = {
        "_CFBENCH_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": {"zsh": "1"}.get(shell, "lea"),
    }
    done = subprocess.run([command], env=os.environ | asked, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(answer)
    assert "leaderboard" in done.stdout
    assert "merge" not in done.stdout
