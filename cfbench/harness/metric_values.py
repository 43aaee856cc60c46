"""What a metric returned is checked here before anybody uses it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cfbench.digests import digest_of
from cfbench.errors import CfbenchError, PluginError
from cfbench.harness.seeds import guarded_randomness
from cfbench.space import FloatArray

if TYPE_CHECKING:
    import pandas as pd


def checked_values(metric: str, returned: object, index: pd.Index) -> FloatArray:
    """Return a metric's values as float64 in the order of `index`, NaN where it has none.

    Parameters
    ----------
    metric : str
        Its label, for messages.
    returned : object
        What the metric returned; a Series with exactly this index is right.
    index : Index
        Of the rows that it was given.

    Raises
    ------
    PluginError
        If it is anything else, or holds an infinity or what is no number.
    """
    import pandas as pd

    if not isinstance(returned, pd.Series):
        raise PluginError(
            f"metric {metric!r} returned a {type(returned).__name__}; it must return a pandas Series with the index "
            "of the rows that it was given"
        )
    if len(returned) != len(index):
        raise PluginError(
            f"metric {metric!r} returned {len(returned)} values for {len(index)} rows; it must return one a row, "
            "NaN where there is none"
        )
    if not returned.index.equals(index):
        raise PluginError(
            f"metric {metric!r} returned a Series with another index than that of the rows that it was given; "
            "build it with index=searches.index"
        )
    try:
        values = returned.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise PluginError(f"metric {metric!r} returned values of type {returned.dtype}, not numbers: {error}") from None
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise PluginError(
            f"metric {metric!r} returned {values[infinite[0]]} for row {index[infinite[0]]}; an infinity cannot be "
            "averaged or stored: return NaN where there is no value"
        )
    return values


@contextlib.contextmanager
def plugin_call(metric: str, *stream: str) -> Iterator[None]:
    """Guard a call of a metric: its error names it, and it leaves the global random states as they were.

    Parameters
    ----------
    metric : str
        Its label.
    stream : str
        What the call is about, so that its global generators are seeded alike wherever it runs.

    Raises
    ------
    PluginError
        In place of whatever the metric raises; errors of ours (no data, no model) pass as they are.
    """
    seed = np.random.SeedSequence(int(digest_of(["metric", metric, *stream]), 16))
    try:
        with guarded_randomness(seed), chdir(Path.cwd()):
            yield
    except CfbenchError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"metric {metric!r} raised {type(error).__name__}: {error}") from error
