"""The command line as a whole: its table of commands, its help, its errors."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import cfbench.cli
from cfbench.cli import COMMANDS, cli, main
from cfbench.errors import StudyError

HEAVY = {"mlflow", "sklearn", "numpy", "pandas", "scipy", "pydantic", "rich", "matplotlib", "pyarrow", "pluggy"}


def test_every_module_of_a_command_is_in_the_table() -> None:
    folder = Path(cfbench.cli.__file__).parent
    with_command = {
        path.stem
        for path in folder.glob("*.py")
        if any(
            isinstance(node, ast.FunctionDef) and node.name == "command" for node in ast.parse(path.read_text()).body
        )
    }
    assert with_command == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_calls_itself_what_the_table_calls_it(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=200) == COMMANDS[name]
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: cli {name} ")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_every_command(option: str) -> None:
    result = CliRunner().invoke(cli, [option])
    assert result.exit_code == 0
    for name, line in COMMANDS.items():
        assert f"{name}  " in result.output
        assert line in result.output


def test_an_unknown_command_names_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["leadrboard"])
    assert result.exit_code == 2
    assert "unknown command 'leadrboard'. Did you mean 'leaderboard'?" in result.output


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(cli, ["--version"]).output.startswith("cfbench, version ")


def test_an_error_of_ours_is_one_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(context: click.Context) -> None:
        raise StudyError("key `points` is -1; it must be positive")

    monkeypatch.setattr(cli, "invoke", fail)
    with pytest.raises(SystemExit) as caught:
        main(["plugins"])
    assert caught.value.code == 1
    assert capsys.readouterr().err == "Error: key `points` is -1; it must be positive\n"


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom cfbench.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "Commands" in finished.stdout
    imported = set(finished.stderr.split())
    assert "cfbench.cli" in imported
    assert not imported & HEAVY


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "<&- 2>&-"])
def test_a_closed_stream_is_no_traceback(closed: str, tmp_path: Path) -> None:
    said = tmp_path / "said"
    command = f'"{sys.executable}" -c "from cfbench.cli import main; main()" datasets list --format csv'
    done = subprocess.run(
        f'{command} {closed} && echo over > "{said}"',
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert ("data set,n," in done.stdout) == ("2>" in closed)
    assert said.exists()


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_no_file_gets_the_number_of_a_closed_stream(closed: str, tmp_path: Path) -> None:
    """Otherwise a message of a library would be written into a record."""
    code = (
        "import os\nfrom pathlib import Path\nfrom cfbench.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit:\n    opened = os.open(os.devnull, os.O_RDONLY)\n"
        "    Path('number').write_text(str(opened))\n"
    )
    command = f'"{sys.executable}" -c "$CODE" {closed}'
    subprocess.run(command, shell=True, cwd=tmp_path, env={**os.environ, "CODE": code}, check=True)
    assert int((tmp_path / "number").read_text()) > 2
