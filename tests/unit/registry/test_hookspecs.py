"""Every hook has an example that runs, and docs/hooks.md says what the specifications say."""

from __future__ import annotations

import doctest
import inspect
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.problem.answers import model_fault
from cfbench.registry import events, hookspecs
from cfbench.registry.entries import Entry
from cfbench.registry.registry import REGISTERING, REPORTING, build_registry

HOOKS = [*REGISTERING, *REPORTING.values()]
PAGE = (Path(__file__).parents[3] / "docs" / "hooks.md").read_text(encoding="utf-8")


def docstring(hook: str) -> str:
    return inspect.getdoc(getattr(hookspecs, hook)) or ""


def example(hook: str) -> str:
    return "".join(one.source for one in doctest.DocTestParser().get_examples(docstring(hook)))


def section(hook: str) -> str:
    """Return the page's section on a hook, its heading first."""
    (found,) = [part for part in re.split(r"^### ", PAGE, flags=re.MULTILINE) if part.startswith(f"`{hook}(")]
    return re.split(r"^## ", found, flags=re.MULTILINE)[0]


def without_blank_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_every_specification_is_known_to_the_registry_and_documented_in_order() -> None:
    specified = [name for name, one in vars(hookspecs).items() if hasattr(one, "cfbench_spec")]
    assert specified == HOOKS
    assert re.findall(r"^### `(\w+)\(", PAGE, flags=re.MULTILINE) == HOOKS


@pytest.mark.parametrize("hook", HOOKS)
def test_the_page_has_the_signature_the_summary_and_the_example(hook: str) -> None:
    text = section(hook)
    parameters = ", ".join(inspect.signature(getattr(hookspecs, hook)).parameters)
    summary = docstring(hook).split("\n\n")[0]
    assert text.splitlines()[0] == f"`{hook}({parameters})`"
    assert summary in text
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert without_blank_lines(code) == without_blank_lines(example(hook))


@pytest.mark.parametrize("hook", HOOKS)
def test_the_example_is_a_plugin_that_loads(hook: str) -> None:
    plugin = ModuleType(f"example_of_{hook}")
    exec(example(hook), plugin.__dict__)
    registry = build_registry(objects=[plugin])
    assert not [problem for problem in registry.problems if problem.plugin == plugin.__name__]
    assert (plugin.__name__ in registry.reporters) is (hook in REPORTING.values())


def test_the_example_of_a_model_is_tuned_fitted_and_answers_in_the_form_that_it_says() -> None:
    plugin = ModuleType("example_of_a_model")
    exec(example("cfbench_register_models"), plugin.__dict__)
    (entry,) = plugin.cfbench_register_models()
    space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    X, y = np.arange(0.0, 100.0, 5.0)[:, np.newaxis], (np.arange(20) > 14).astype(np.int64)
    chosen = entry.family().tune(X, y, space)
    assert chosen == {"share": 0.75}
    model = entry.family().fit(X, y, space, chosen)
    assert model.predict(X).tolist() == y.tolist()
    assert model_fault(model, space, X, 2) == ""
    assert entry.family(share=0.5).grid() == {"share": [0.5]}


@pytest.mark.parametrize(("hook", "entry"), REGISTERING.items())
def test_the_page_explains_every_field_of_an_entry(hook: str, entry: type[Entry]) -> None:
    general = {field.name for field in fields(Entry)}
    documented = re.findall(r"^\| `(\w+)` \|", section(hook), flags=re.MULTILINE)
    assert documented == [field.name for field in fields(entry) if field.name not in general]
    assert all(f"`{name}` (" in PAGE for name in general)


@pytest.mark.parametrize(("event", "hook"), REPORTING.items())
def test_the_page_names_every_field_of_an_event(event: type, hook: str) -> None:
    (sentence,) = re.findall(rf"`{event.__name__}` has (.*?)\.(?:\s|$)", section(hook), flags=re.DOTALL)
    assert re.findall(r"`(\w+)`", sentence) == [field.name for field in fields(event)]


def test_the_page_names_every_field_of_a_cell() -> None:
    (sentence,) = re.findall(r"is a `CellInfo`: (.*?)\.\s", PAGE, flags=re.DOTALL)
    assert re.findall(r"`(\w+)`", sentence) == [field.name for field in fields(events.CellInfo)]
