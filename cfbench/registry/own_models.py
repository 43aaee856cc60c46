"""Models that a user names where a model's name is expected: a function in a file, a stored estimator, an address."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, ModelError, UnavailableError
from cfbench.files import at_home
from cfbench.registry.contracts import ModelFamily
from cfbench.registry.discovery import failure, import_file
from cfbench.registry.endpoint import Endpoint
from cfbench.registry.entries import VERSION_DIGITS, ModelEntry

_FUNCTION = re.compile(r"(?P<file>.+\.py):(?P<name>[\w.]+)")
_ADDRESS = re.compile(r"https?://")
_PICKLES = (".joblib", ".pkl", ".pickle")
FORMS = "FILE.py:NAME, FILE.skops, FILE.joblib or http://HOST:PORT/PATH"
"""How a model of one's own is named."""


class UntrustedTypesError(ModelError):
    """A skops file holds types that skops does not know to be harmless."""

    def __init__(self, file: str, types: Sequence[str]) -> None:
        self.file, self.types = file, tuple(types)
        listed = "".join(f"\n  {name}" for name in types)
        options = " ".join(f"--trust-type {name}" for name in types)
        super().__init__(
            f"{file} holds types that may run code when they are loaded:{listed}\nIf you know them and trust the "
            f"file's source, add: {options}"
        )

    def __reduce__(self) -> tuple[type[UntrustedTypesError], tuple[str, tuple[str, ...]]]:
        return type(self), (self.file, self.types)


def is_reference(text: str) -> bool:
    """Whether a model's name in a study is that of a user's own model."""
    name = text.partition("[")[0].strip()
    return bool(_ADDRESS.match(name) or _FUNCTION.fullmatch(name)) or name.endswith((".skops", *_PICKLES))


def references_among(models: Iterable[str]) -> tuple[str, ...]:
    """Return the user's own models among the names of a study, without settings."""
    return tuple(dict.fromkeys(text.partition("[")[0].strip() for text in models if is_reference(text)))


def is_skops_file(reference: str) -> bool:
    """Whether a user's own model is a file of skops, which is loaded without running code and receives no rows."""
    return reference.endswith(".skops") and not (_ADDRESS.match(reference) or _FUNCTION.fullmatch(reference))


def resolved(reference: str) -> str:
    """Return a reference with the full path of its file, so that it is the same in every process."""
    found = _FUNCTION.fullmatch(reference)
    if found:
        return f"{at_home(Path(found['file'])).resolve()}:{found['name']}"
    return reference if _ADDRESS.match(reference) else str(at_home(Path(reference)).resolve())


def entry_of(reference: str, taken: Container[str], *, trust: bool, types: Sequence[str]) -> ModelEntry:
    """Load the model of a reference.

    Parameters
    ----------
    reference : str
    taken : container of str
        Names of other models. The name is the file's; with a part of the model's digest if that is taken.
    trust : bool
        Whether pickles, which run code, may be loaded.
    types : sequence of str
        Types in skops files that the user trusts.

    Raises
    ------
    ModelError
        If there is no such file, it cannot be loaded, or it holds no fitted estimator.
    UnavailableError
        If skops is not installed.
    """
    found = _FUNCTION.fullmatch(reference)
    if _ADDRESS.match(reference):
        fields: dict[str, Any] = {"fitted": Endpoint(reference), "version": digest_of(reference)[:VERSION_DIGITS]}
        name = _name(reference.partition("://")[2])
    elif found:
        file = _file(found["file"])
        fields = _of_function(file, found["name"], reference)
        name = _name(f"{file.stem}-{found['name']}")
    else:
        file = _file(reference)
        estimator = _from_skops(file, types) if file.suffix == ".skops" else _from_pickle(file, trust=trust)
        fields, name = {"fitted": estimator}, _name(file.stem)
    for part in parts_of(fields.get("fitted")):  # workers share the processor already
        if getattr(part, "n_jobs", None) not in (None, 1):
            part.n_jobs = 1
    try:
        entry = ModelEntry(name=name, origin=reference, summary=f"your own model {reference}", **fields)
        if name in taken:
            entry = replace(entry, name=f"{name}-{entry.version[:6]}")
    except CfbenchError as error:
        raise ModelError(f"{reference}: {error}") from error
    return entry


def parts_of(estimator: Any) -> Iterator[Any]:
    """Yield an estimator and the steps inside of it: those of pipelines, column transformers and searches."""
    yield estimator
    inside = [one[1] for name in ("steps", "transformers_") for one in getattr(estimator, name, ())]
    for step in [*inside, *filter(None, [getattr(estimator, "best_estimator_", None)])]:
        yield from parts_of(step)


def _name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "model"


def _file(text: str) -> Path:
    path = at_home(Path(text))
    if not path.is_file():
        raise ModelError(f"there is no file {text}; a model of your own is named by {FORMS}")
    return path


def _loaded(reference: object, load: Any) -> Any:
    try:
        return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the user's code or a library raises, an exit included
        raise ModelError(f"{reference} cannot be loaded: {failure(error)}") from error


def _of_function(file: Path, name: str, reference: str) -> dict[str, Any]:
    """Return the fields of the entry of what a file defines: a family, an estimator, or a function that returns one."""
    found = _loaded(file, lambda: import_file(file.resolve()))
    version = digest_of(file.read_bytes().hex())[:VERSION_DIGITS]
    for part in name.split("."):
        if not hasattr(found, part):
            raise ModelError(f"{reference}: there is no {part!r} in {file.name}")
        found = getattr(found, part)
    if inspect.isroutine(found):
        found = _loaded(reference, found)
    if isinstance(found, type) and issubclass(found, ModelFamily):
        return {"family": found, "version": version}
    if isinstance(found, type) or not callable(getattr(found, "predict", None)):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise ModelError(
            f"{reference} is {what}; it must be a function without arguments that returns a fitted estimator (an "
            "object with `predict`), or a cfbench.ModelFamily"
        )
    try:
        ModelEntry(name="probe", fitted=found)
    except CfbenchError:  # it cannot be pickled: the file stands for it
        return {"fitted": found, "version": version}
    return {"fitted": found}


def _from_pickle(file: Path, *, trust: bool) -> Any:
    if not trust:
        raise ModelError(
            f"{file} is a pickle, and loading it runs the code that it holds. If you trust its source, add --trust; a "
            ".skops file needs no such trust"
        )
    import joblib  # scikit-learn's own

    folder = str(file.resolve().parent)
    if folder not in sys.path:  # modules next to the file, whose classes and functions it may hold
        sys.path.append(folder)
    return _loaded(file, lambda: joblib.load(file))


def _from_skops(file: Path, types: Sequence[str]) -> Any:
    try:
        import skops.io  # an extra
    except ImportError:
        raise UnavailableError(
            f'{file} needs the package skops; install it with: pip install "counterfactual-bench[skops]"'
        ) from None
    untrusted = _loaded(file, lambda: skops.io.get_untrusted_types(file=file))
    unknown = [name for name in untrusted if name not in types]
    if unknown:
        raise UntrustedTypesError(str(file), unknown)
    return _loaded(file, lambda: skops.io.load(file, trusted=untrusted))
