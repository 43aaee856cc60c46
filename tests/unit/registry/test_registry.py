"""The registry: who may take which name, look-ups, and telling the reporters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cfbench.errors import TrackingError, UnknownNameError
from cfbench.registry.entries import DatasetEntry, SearcherEntry
from cfbench.registry.events import RunFinished, RunStarted
from cfbench.registry.hookspecs import hookimpl
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from tests.unit.registry.sources import GOOD, IMPORTS, problems_of

Install = Callable[..., None]


def test_good_entries_of_a_partly_broken_plugin_stay(install: Install) -> None:
    source = GOOD.replace("NAME", "early") + (
        "    yield 'no entry'\n"
        "    yield SearcherEntry(name='middle', searcher=stay)\n"
        "    raise RuntimeError('half-way')\n"
        "@hookimpl\ndef cfbench_register_models(wrong):\n    return []\n"
    )
    install("partly", {"partly": "partly_plugin"}, {"partly_plugin": source})
    registry = build_registry()
    assert {"early", "middle"} <= set(registry.searchers)
    reasons = [problem.reason for problem in problems_of(registry, "partly")]
    assert len(reasons) == 3
    assert "argument 'wrong'" in reasons[0]
    assert "yielded str where SearcherEntry is expected: 'no entry'" in reasons[1]
    assert "half-way" in reasons[2]


def test_the_first_distribution_by_name_keeps_an_entrys_name(install: Install) -> None:
    install("zebra", {"zebra": "zebra"}, {"zebra": GOOD.replace("NAME", "shared")})
    install("aardvark", {"aardvark": "aardvark"}, {"aardvark": GOOD.replace("NAME", "shared")})
    registry = build_registry()
    assert registry.searcher("shared").distribution == "aardvark"
    (problem,) = problems_of(registry, "zebra")
    assert "'shared': the name is taken by plugin aardvark of aardvark 1.0" in problem.reason


def test_our_names_cannot_be_taken(install: Install) -> None:
    ours = next(iter(build_registry().models))
    source = IMPORTS + (
        f"@hookimpl\ndef cfbench_register_models():\n    yield ModelEntry(name='{ours}', family=Family)\n"
    )
    install("aaa-first-in-the-alphabet", {"aaa": "aaa_plugin"}, {"aaa_plugin": source})
    registry = build_registry()
    assert registry.model(ours).distribution == "counterfactual-bench"
    (problem,) = problems_of(registry, "aaa-first-in-the-alphabet")
    assert "is taken by plugin cfbench-models of counterfactual-bench" in problem.reason


def test_the_same_name_may_stand_for_entries_of_two_kinds(install: Install) -> None:
    source = GOOD.replace("NAME", "twin") + (
        "@hookimpl\ndef cfbench_register_models():\n    yield ModelEntry(name='twin', family=Family)\n"
    )
    install("twins", {"twins": "twins"}, {"twins": source})
    registry = build_registry()
    assert registry.model("twin").plugin == registry.searcher("twin").plugin == "twins"
    assert problems_of(registry, "twins") == []


def test_unknown_names_list_the_nearest_and_the_problems(install: Install) -> None:
    install("broken", {"broken-plugin": "broken_plugin"}, {"broken_plugin": "raise ValueError('no key')\n"})
    install("acme", {"acme": "acme"}, {"acme": GOOD.replace("NAME", "acme-stay")})
    registry = build_registry()
    with pytest.raises(UnknownNameError) as caught:
        registry.searcher("acme-sta")
    assert caught.value.known[0] == "acme-stay"
    assert "unknown searcher 'acme-sta'. Did you mean 'acme-stay'?" in str(caught.value)
    assert "Not everything could be registered" in str(caught.value)
    for look_up, kind in [
        (registry.dataset, "data set"),
        (registry.model, "model"),
        (registry.objective, "objective"),
        (registry.metric, "metric"),
    ]:
        with pytest.raises(UnknownNameError, match=f"unknown {kind} 'nothing-like-it'"):
            look_up("nothing-like-it")


# ------------------------------------------------------------------ folders, objects, reporters


def fail_to_load(source: object) -> object:
    raise AssertionError(f"nothing loads {source} in these tests")


class FolderReader:
    """Registers the user's folders as data sets."""

    @hookimpl
    def cfbench_register_datasets(self, folders: list[Path]) -> list[DatasetEntry]:
        return [DatasetEntry(name=folder.name, load=fail_to_load, folder=folder) for folder in folders]  # type: ignore[arg-type]


def test_a_folder_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loans-of-mine").mkdir()
    registry = build_registry(RegistryOptions(folders=(Path("loans-of-mine"),)), objects=[FolderReader()])
    entry = registry.dataset("loans-of-mine").entry
    assert entry.folder == tmp_path / "loans-of-mine"
    assert registry.dataset("./loans-of-mine").entry is entry
    assert registry.dataset(str(tmp_path / "loans-of-mine")).entry is entry
    assert registry.options.folders == (tmp_path / "loans-of-mine",)


def test_a_plugin_that_waits_for_folders_contributes_something() -> None:
    registry = build_registry(objects=[FolderReader()])
    assert not [problem for problem in registry.problems if problem.plugin == "FolderReader"]


class Listener:
    """Keeps the events that it hears of."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    @hookimpl
    def cfbench_run_started(self, event: RunStarted) -> None:
        self.heard.append(event)

    @hookimpl
    def cfbench_run_finished(self, event: RunFinished) -> None:
        self.heard.append(event)


class Complainer(Listener):
    """Raises whatever it is given."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__()
        self.error = error

    @hookimpl
    def cfbench_run_started(self, event: RunStarted) -> None:
        if self.error is not None:
            raise self.error


STARTED = RunStarted("study", Path("results"), "", (), 0, 10, 0, 1)
FINISHED = RunFinished(cells_done=1, cells_failed=0, searches_run=10, interrupted=False)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("terminal gone"), "it raised OSError: terminal gone"),
        (TrackingError("server is down"), "server is down"),
        (SystemExit(2), "it asked to end the program (SystemExit: 2); a plugin must never do that"),
    ],
)
def test_a_reporter_that_raises_stops_neither_the_others_nor_the_run(error: BaseException, message: str) -> None:
    before, after = Listener(), Listener()
    registry = build_registry(objects=[before, Complainer(error), after])
    registry = only_given(registry)
    complaints = registry.notify(STARTED)
    assert [(one.reporter, one.message) for one in complaints] == [("Complainer", message)]
    assert registry.notify(FINISHED) == []
    assert before.heard == after.heard == [STARTED, FINISHED]


def test_ctrl_c_passes_through_reporters() -> None:
    registry = build_registry(objects=[Complainer(KeyboardInterrupt())])
    with pytest.raises(KeyboardInterrupt):
        registry.notify(STARTED, only="Complainer")


def test_one_reporter_can_be_told_alone() -> None:
    first, second = Listener(), Listener()
    registry = build_registry(objects=[first, second])
    assert registry.reporters["Listener"] is first
    assert registry.notify(STARTED, only="Listener-2") == []
    assert (first.heard, second.heard) == ([], [STARTED])
    with pytest.raises(UnknownNameError, match=r"unknown reporter 'Listner'\. Did you mean 'Listener'\?"):
        registry.notify(STARTED, only="Listner")


def test_a_reporters_class_is_instantiated_for_each_registry() -> None:
    first, second = build_registry(objects=[Listener]), build_registry(objects=[Listener])
    assert isinstance(first.reporters["Listener"], Listener)
    assert first.reporters["Listener"] is not second.reporters["Listener"]


def test_static_and_renamed_hooks_count(tmp_path: Path) -> None:
    class Static:
        @staticmethod
        @hookimpl
        def cfbench_register_searchers() -> list[SearcherEntry]:
            return [SearcherEntry(name="static", searcher=lambda problem, rng: None)]

        @hookimpl(specname="cfbench_register_searchers")
        def more(self) -> list[SearcherEntry]:
            return [SearcherEntry(name="renamed", searcher=lambda problem, rng: None)]

        @hookimpl(optionalhook=True)
        def cfbench_of_a_later_version(self) -> None:
            raise AssertionError("no such hook is called")

    registry = build_registry(objects=[Static()])
    assert {"static", "renamed"} <= set(registry.searchers)
    assert not [problem for problem in registry.problems if problem.plugin == "Static"]


def test_attributes_are_not_evaluated_on_the_way(tmp_path: Path) -> None:
    class Shy(Listener):
        @property
        def cfbench_secret(self) -> None:
            raise AssertionError("a property was evaluated")

    registry = build_registry(objects=[Shy(), SimpleNamespace(cfbench_version="1.0")])
    reasons = {problem.plugin: problem.reason for problem in registry.problems}
    assert "Shy" not in reasons
    assert "registers nothing" in reasons["SimpleNamespace"]


def only_given(registry: Registry) -> Registry:
    """Leave out the installed reporters, which would print these events."""
    kept = {name: one for name, one in registry.reporter_plugins.items() if not name.startswith("cfbench-")}
    registry.reporter_plugins = kept
    return registry
