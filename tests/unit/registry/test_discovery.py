"""Discovery with real distributions (see conftest.py), and with modules and files that the user names."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.errors import PluginError
from cfbench.registry.discovery import PluginProblem
from cfbench.registry.registry import RegistryOptions, build_registry
from tests.unit.registry.sources import GOOD, IMPORTS, problems_of

Install = Callable[..., None]


def hook(signature: str, body: str, mark: str = "@hookimpl\n") -> str:
    """Return a module with one function."""
    return f"{IMPORTS}{mark}def {signature}:\n    {body}\n"


def models(body: str) -> str:
    return hook("cfbench_register_models()", body)


def test_a_third_partys_plugin_takes_the_same_path_as_ours(install: Install) -> None:
    install("acme-search", {"acme": "acme"}, {"acme": GOOD.replace("NAME", "acme-stay")}, version="2.5")
    registry = build_registry()
    registered = registry.searcher("acme-stay")
    assert (registered.distribution, registered.distribution_version) == ("acme-search", "2.5")
    assert registered.plugin == "acme"
    assert problems_of(registry, "acme-search") == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def broken(:\n", "does not compile"),
        ("import sys; sys.exit(3)\n", "asked to end the program (SystemExit: 3)"),
        ("raise ValueError('no licence key')\n", "raised ValueError: no licence key"),
        ("import surely_absent.part\n", "imports 'surely_absent', which is not installed here"),
        ("class Panic(BaseException): pass\nraise Panic('from a compiled extension')\n", "raised Panic"),
        ("x = 1\n", "registers nothing"),
        (models("return []"), "registers nothing"),
        (hook("cfbench_register_searcher()", "return []"), "no such hook; did you mean cfbench_register_searchers?"),
        (hook("register_models()", "return []"), "no such hook; did you mean cfbench_register_models?"),
        (
            hook("cfbench_register_models()", "return []", mark=""),
            "cfbench_register_models is not marked; write @cfbench.hookimpl above it",
        ),
        (
            hook("cfbench_run_start(event)", "pass", mark=""),
            "did you mean cfbench_run_started, marked with @cfbench.hookimpl?",
        ),
        (
            hook("cfbench_register_datasets(folder)", "return []"),
            "has the argument 'folder', which cfbench_register_datasets does not have; it may take: folders",
        ),
        (
            hook("cfbench_register_models(registry)", "return []"),
            "has the argument 'registry', which cfbench_register_models does not have; it takes none",
        ),
        (models("raise OSError('disk')"), "cfbench_register_models failed: it raised OSError: disk"),
        (models("raise SystemExit(1)"), "cfbench_register_models failed: it asked to end the program"),
        (models("pass"), "cfbench_register_models returned None"),
        (models("return 7"), "cfbench_register_models returned int; it must yield ModelEntry objects"),
        (models("return 'cogs'"), "cfbench_register_models returned str"),
        (
            models("return ModelEntry(name='alone', family=Family)"),
            "returned one ModelEntry; it must yield it, or return a list",
        ),
        (models("return [ModelFamily]"), "yielded ModelMetaclass where ModelEntry is expected"),
        (
            hook("cfbench_register_searchers()", "yield ModelEntry(name='astray', family=Family)"),
            "yielded the ModelEntry 'astray', and only SearcherEntry belongs there; yield it from "
            "cfbench_register_models",
        ),
        (
            models("yield ModelEntry(name='Bad Name', family=Family)"),
            "'Bad Name' is no name for an entry; use kebab-case",
        ),
        (
            hook("cfbench_register_models()", "return []", mark="@hookimpl(wrapper=True)\n"),
            "cfbench_register_models is no implementation of cfbench_register_models",
        ),
    ],
)
def test_a_broken_plugin_is_reported_and_costs_only_itself(install: Install, source: str, expected: str) -> None:
    install("broken", {"broken-plugin": "broken_plugin"}, {"broken_plugin": source}, version="0.3")
    install("sound", {"sound-plugin": "sound_plugin"}, {"sound_plugin": GOOD.replace("NAME", "sound")})
    registry = build_registry()
    (problem,) = problems_of(registry, "broken")
    assert (problem.plugin, problem.version) == ("broken-plugin", "0.3")
    assert expected in problem.reason
    assert registry.searcher("sound").plugin == "sound-plugin"
    with pytest.raises(PluginError, match=r"plugin broken-plugin of broken 0\.3"):
        build_registry(RegistryOptions(strict=True))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("no_such_module", "there is no module 'no_such_module'"),
        ("listed:NoSuchClass", "AttributeError"),
        ("not a module", "value 'not a module' names nothing; write 'package.module'"),
        ("listed:Demanding", "TypeError"),
        ("listed:number", "registers nothing"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_reported(install: Install, value: str, expected: str) -> None:
    source = "number = 3\nclass Demanding:\n    def __init__(self, argument): pass\n"
    install("lost", {"lost-plugin": value}, {"listed": source})
    (problem,) = problems_of(build_registry(), "lost")
    assert expected in problem.reason


def test_an_entry_point_may_name_an_object_or_a_class(install: Install) -> None:
    source = IMPORTS + (
        "def stay(problem, rng):\n    return None\n"
        "class Plugin:\n"
        "    def __init__(self, name='by-class'):\n        self.name = name\n"
        "    @hookimpl\n    def cfbench_register_searchers(self):\n"
        "        return [SearcherEntry(name=self.name, searcher=stay)]\n"
        "plugin = Plugin('by-object')\n"
    )
    install("forms", {"forms-a": "forms:Plugin", "forms-b": "forms:plugin"}, {"forms": source})
    registry = build_registry()
    assert {"by-class", "by-object"} <= set(registry.searchers)
    assert problems_of(registry, "forms") == []


def test_a_second_distribution_with_the_same_entry_point_name_is_reported(install: Install) -> None:
    install("first", {"plugin": "first_plugin"}, {"first_plugin": GOOD.replace("NAME", "one")})
    install("second", {"plugin": "second_plugin"}, {"second_plugin": GOOD.replace("NAME", "two")})
    registry = build_registry()
    assert "one" in registry.searchers
    assert "two" not in registry.searchers
    (problem,) = problems_of(registry, "second")
    assert "its entry point's name 'plugin' is taken by first 1.0" in problem.reason


@pytest.mark.parametrize("group", ["cfbench.plugins", "cf_bench", "cfbench-searchers", "counterfactual-bench"])
def test_a_wrong_group_is_reported(install: Install, group: str) -> None:
    install("astray", {"astray": "astray"}, {"astray": GOOD.replace("NAME", "astray")}, group=group)
    registry = build_registry()
    (problem,) = problems_of(registry, "astray")
    assert problem.reason == (
        f"its entry point is in the group {group!r}, which no program reads; use the group 'cfbench'"
    )


def test_groups_of_other_programs_are_left_alone(install: Install) -> None:
    install("other-bench", {"other": "other"}, {"other": ""}, group="console_scripts")
    assert problems_of(build_registry(), "other-bench") == []


def test_unreadable_entry_points_cost_only_their_distribution(install: Install) -> None:
    install("garbled", "[cfbench]\nthis line is no entry point\n", {})
    install("sound", {"sound-plugin": "sound_plugin"}, {"sound_plugin": GOOD.replace("NAME", "sound")})
    registry = build_registry()
    assert "sound" in registry.searchers
    (problem,) = problems_of(registry, "garbled")
    assert "its entry points cannot be read" in problem.reason


# ------------------------------------------------------------------ what the user names


def test_a_file_is_registered_for_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my-searcher.py").write_text(GOOD.replace("NAME", "mine"))
    monkeypatch.chdir(tmp_path)
    registry = build_registry(RegistryOptions(plugins=("./my-searcher.py",)))
    registered = registry.searcher("mine")
    assert registered.distribution == ""
    assert registered.plugin == str(tmp_path / "my-searcher.py")
    assert "mine" not in build_registry().searchers
    again = build_registry(registry.options).searcher("mine")
    assert again.entry.searcher is registered.entry.searcher


def test_an_edited_file_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    options = RegistryOptions(plugins=(str(file),))
    file.write_text(GOOD.replace("NAME", "aaaa"))
    assert "aaaa" in build_registry(options).searchers
    file.write_text(GOOD.replace("NAME", "bbbb"))
    registry = build_registry(options)
    assert "bbbb" in registry.searchers
    assert "aaaa" not in registry.searchers


@pytest.mark.slow
def test_what_a_file_defines_can_be_pickled_to_another_process(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GOOD.replace("NAME", "mine"))
    registry = build_registry(RegistryOptions(plugins=(str(file),)))
    (tmp_path / "sent").write_bytes(pickle.dumps((registry.options, pickle.dumps(registry.searcher("mine").entry))))
    code = (
        "import pathlib, pickle, sys\n"
        "from cfbench.registry.registry import build_registry\n"
        "options, sent = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "entry = build_registry(options).searcher('mine').entry\n"
        "assert pickle.loads(sent) == entry\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "sent")], check=True, cwd=tmp_path.parent)


def test_a_module_is_registered_for_one_call(install: Install) -> None:
    install("no-plugin", "", {"loose_module": GOOD.replace("NAME", "loose")})
    registry = build_registry(RegistryOptions(plugins=("loose_module",)))
    assert registry.searcher("loose").plugin == "loose_module"


def test_a_file_that_fails_is_a_problem_and_leaves_no_module_behind(tmp_path: Path) -> None:
    file = tmp_path / "fails.py"
    file.write_text("raise ValueError('unfinished')\n")
    registry = build_registry(RegistryOptions(plugins=(str(file),)))
    assert registry.problems[-1] == PluginProblem(str(file), "", "", "it raised ValueError: unfinished")
    assert str(registry.problems[-1]) == f"plugin {file}: it raised ValueError: unfinished"
    assert not [name for name in sys.modules if name.startswith("cfbench_plugin_fails")]


@pytest.mark.parametrize("name", ["absent.py", "folder/", "absent_module", "absent_package.module", ".relative"])
def test_a_plugin_that_the_user_names_must_exist(name: str) -> None:
    with pytest.raises(PluginError, match="there is no plugin"):
        build_registry(RegistryOptions(plugins=(name,)))


def test_a_module_that_lies_here_as_a_file_is_pointed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside.py").write_text(GOOD.replace("NAME", "beside"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", ".")])
    with pytest.raises(PluginError, match=r"give its path: \./beside\.py"):
        build_registry(RegistryOptions(plugins=("beside",)))


def test_a_plugin_file_that_imports_the_file_next_to_it_says_how(tmp_path: Path) -> None:
    (tmp_path / "graphs_nearby.py").write_text("K = 3\n")
    file = tmp_path / "my_searcher.py"
    file.write_text("from graphs_nearby import K\n")
    (problem,) = build_registry(RegistryOptions(plugins=(str(file),))).problems
    assert "imports 'graphs_nearby', a file next to it" in problem.reason
    assert f"PYTHONPATH={tmp_path}" in problem.reason
    assert "pip install" not in problem.reason
