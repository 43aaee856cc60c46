"""The options of ``cfbench run`` beside the study's, which ``cfbench plan`` takes as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cfbench.cli.options import data_dir_option, plugin_option, strict_option
from cfbench.cli.study_options import study_from_options, study_options
from cfbench.harness.sources import data_source

if TYPE_CHECKING:
    from cfbench.harness.session import Session

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = [
    click.option(
        "--retry",
        "retry",
        multiple=True,
        metavar="STATUS",
        help="Run searches again that ended with this status (crashed, timed_out, ...). May be repeated.",
    ),
    click.option(
        "--shard",
        metavar="NUMBER/OF",
        help="Only this part of the cells, as in 3/16, into a record of its own; `cfbench merge` joins the parts.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Search on the Dask cluster of this scheduler, as in tcp://host:8786, in place of --workers.",
    ),
    data_dir_option,
    plugin_option,
    strict_option,
]


def run_options(command: F) -> F:
    """Add the study's options and those of a run; `session_from_options` takes them all."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return study_options(command)


def session_from_options(options: Mapping[str, Any]) -> Session:
    """Plan what the options ask for.

    Raises
    ------
    CfbenchError
        If the study, an option or a plugin cannot be used.
    """
    from cfbench.harness.session import Session, check_statuses
    from cfbench.harness.shard import Shard

    check_statuses(options["retry"])
    shard = None if options["shard"] is None else Shard.parse(options["shard"])
    plugins: Sequence[str] = options["plugins"]
    data_dirs: Sequence[Path] = options["data_dirs"]
    registry, study = study_from_options(options, plugins=plugins, strict=options["strict"])
    if shard is not None and options["results"] is None:
        study = study.model_copy(update={"results": shard.results(study.results)})
    return Session.prepare(study, registry, data_source(data_dirs), shard=shard, cluster=options["scheduler"])
