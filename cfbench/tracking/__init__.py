"""What the core knows of a tracking store: addresses, and a record rebuilt from it. It never imports mlflow.

Imports `record` and what is below it. Start with `addresses.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.study.plan import command_again as command_again
    from cfbench.tracking.addresses import CELL_VIEW as CELL_VIEW
    from cfbench.tracking.addresses import CHART_VIEW as CHART_VIEW
    from cfbench.tracking.addresses import SUMMARY_TAG as SUMMARY_TAG
    from cfbench.tracking.addresses import TABLE_VIEW as TABLE_VIEW
    from cfbench.tracking.addresses import VIEW_TAG_PREFIX as VIEW_TAG_PREFIX
    from cfbench.tracking.addresses import shown_address as shown_address
    from cfbench.tracking.addresses import sqlite_path as sqlite_path
    from cfbench.tracking.mirror import MirroredCell as MirroredCell
    from cfbench.tracking.mirror import MirrorListing as MirrorListing

__all__, __getattr__, __dir__ = public_names(__name__)
