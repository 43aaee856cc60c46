"""Where tables are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.cli import cli
from cfbench.errors import UnavailableError
from cfbench.study.sources import DATA_VARIABLE, data_source


def test_named_folders_come_before_those_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "usual"))
    assert data_source([tmp_path / "mine"]).data_dirs == (tmp_path / "mine", tmp_path / "usual")


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_named_folder_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match=rf"there is no folder .*{name}; name an existing folder"):
        data_source([tmp_path / name])
    for command in (["plan"], ["datasets", "list"], ["fit"], ["tune", "--dataset", "wine"]):
        refused = CliRunner().invoke(cli, [*command, "--data-dir", str(tmp_path / name)])
        assert refused.exit_code != 0, command
        assert name in str(refused.exception) + refused.output
