"""Finding a Dask cluster, and finding out before the run whether its workers can search for the study."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cfbench.errors import StudyError, UnavailableError
from cfbench.harness.dask_host import Mission, inspect_host

WAIT_FOR_WORKERS = 600.0
"""Seconds that a cluster may take to have its first worker: batch systems let jobs queue."""

WAIT_FOR_SCHEDULER = 20.0
"""Seconds that a scheduler may take to answer a greeting, and then a client."""


def connect(cluster: object) -> tuple[Any, bool]:
    """Return a client, and whether it is ours to close.

    Parameters
    ----------
    cluster : object
        A scheduler's address, a `distributed.Client`, or a cluster object.

    Raises
    ------
    UnavailableError
        If the extra `dask` is not installed, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UnavailableError(
            "a Dask cluster needs the extra dask, which is not installed: pip install counterfactual-bench[dask]"
        ) from None
    if isinstance(cluster, Client):
        return cluster, False
    try:
        if isinstance(cluster, str):
            # A client that cannot connect goes on trying in a thread of its own, and complains when it is thrown away.
            with ThreadPoolExecutor(1) as other:  # this thread may be in the middle of a notebook's event loop
                other.submit(asyncio.run, _greet(cluster)).result()
        client = Client(cluster, timeout=WAIT_FOR_SCHEDULER, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise UnavailableError(
            f"no Dask scheduler answers at {cluster}: {str(error) or type(error).__name__}. Give the address that "
            "`dask scheduler` prints, as in tcp://host:8786"
        ) from None
    return client, True


async def _greet(address: str) -> None:
    """Connect to what speaks Dask's protocol at an address, and part."""
    from distributed import Security
    from distributed.comm.core import connect as connected

    arguments = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    greeting = connected(address, timeout=WAIT_FOR_SCHEDULER, **arguments)  # type: ignore[no-untyped-call]
    # Dask's own limit ends with the connection: a server of another kind would be listened to for ever.
    try:
        comm = await asyncio.wait_for(greeting, WAIT_FOR_SCHEDULER + 1)
    except TimeoutError:
        raise OSError("what listens there does not speak as a scheduler does") from None
    await comm.close()


def wait_for_workers(client: Any) -> None:
    """Wait until the cluster has a worker.

    Raises
    ------
    UnavailableError
        If that takes too long.
    """
    try:
        client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
    except TimeoutError:
        raise UnavailableError(
            f"the Dask cluster has had no worker for {WAIT_FOR_WORKERS:.0f} s; start some, then give the same command "
            "again"
        ) from None


def inspect_workers(client: Any, mission: Mission) -> None:
    """Ask every worker what it has.

    Raises
    ------
    StudyError
        If one lacks something that the run needs, or has another version of it; it names all that is so.
    """
    threads = dict(client.nthreads())
    asked = {
        address: client.submit(
            inspect_host, mission, count, workers=[address], pure=False, key=f"cfbench-inspect-{uuid.uuid4().hex}"
        )
        for address, count in threads.items()
    }
    faults: dict[str, list[str]] = {}
    for address, future in asked.items():
        try:
            fault = future.result()
        except Exception as error:  # what a worker without cfbench raises, for one
            fault = f"{type(error).__name__}: {error}"
        if fault:
            faults.setdefault(fault, []).append(address)
    if faults:
        listing = "".join(f"\n  {', '.join(where)}: {fault}" for fault, where in faults.items())
        count = sum(map(len, faults.values()))
        raise StudyError(
            f"{count} of {len(threads)} Dask workers cannot search for this study:{listing}\nInstall there what is "
            "installed here, in the same versions"
        )
