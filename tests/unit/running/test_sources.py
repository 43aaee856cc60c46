"""Where tables are looked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cfbench import Dataset, DatasetEntry, FeatureSpace, FeatureSpec, Kind
from cfbench.cli import cli
from cfbench.errors import DataError, UnavailableError
from cfbench.study.sources import DATA_VARIABLE, data_source, load_dataset


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


@pytest.mark.parametrize(
    ("value", "step", "is_allowed"), [(1.7e9 + 0.5, 1, False), (0.3, 0.1, True), (0.35, 0.1, False)]
)
def test_a_plugins_value_off_its_step_is_refused_as_the_judge_would(
    value: float, step: float, is_allowed: bool
) -> None:
    space = FeatureSpace((FeatureSpec("born", Kind.NUMERICAL, 0, 2e9, step=step),))
    dataset = Dataset("people", np.array([[0.0], [value]]), np.array([0, 1]), space, 1, ("no", "yes"))
    entry = DatasetEntry(name="people", load=lambda _: dataset)
    if is_allowed:
        assert load_dataset(entry, data_source(())) is dataset
        return
    with pytest.raises(DataError, match=rf"column 'born', row 2: {value} is no multiple of the step {step}; correct"):
        load_dataset(entry, data_source(()))
