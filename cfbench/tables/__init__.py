"""Users' tables: reading annotated folders, and making a first annotation of a table.

A folder holds `data.csv` and `annotations.toml`; `annotation.py` reads the second, `folder.py` both. `detect.py` reads
tables of unknown form, `columns.py` judges their columns, and `annotate.py` writes their first annotation. Imports only
`space` and the layers below. Start with `folder.py`.

The names below are public. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.tables.annotate import AnnotatedTable as AnnotatedTable
    from cfbench.tables.annotation import FILE_NAME as FILE_NAME
    from cfbench.tables.annotation import Annotation as Annotation
    from cfbench.tables.annotation import read_annotation as read_annotation
    from cfbench.tables.folder import TextTable as TextTable
    from cfbench.tables.folder import load_folder as load_folder
    from cfbench.tables.folder import make_dataset as make_dataset
    from cfbench.tables.folder import read_card as read_card
    from cfbench.tables.folder import read_csv as read_csv
    from cfbench.tables.folder import table_of as table_of

__all__, __getattr__, __dir__ = public_names(__name__)
