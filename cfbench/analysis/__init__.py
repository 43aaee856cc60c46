"""What a record says: tasks and points compared, ranks and ties, comparisons, significance. Reads, never searches.

Imports everything below it: `record`, `running`, `study`, `registry` and what these import. Start with `board.py`.

The names below are public: reports of plugins are made of them. They are loaded when they are first used, so that
``import cfbench.analysis`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.analysis.aggregate import Rate as Rate
    from cfbench.analysis.aggregate import rate as rate
    from cfbench.analysis.groups import bare_name as bare_name
    from cfbench.analysis.references import Comparisons as Comparisons
    from cfbench.analysis.references import PointResults as PointResults
    from cfbench.analysis.references import compare_cells as compare_cells
    from cfbench.analysis.reports import RenderedReport as RenderedReport
    from cfbench.analysis.reports import ReportContext as ReportContext
    from cfbench.analysis.significance import MIN_SAMPLE as MIN_SAMPLE
    from cfbench.analysis.significance import Differences as Differences
    from cfbench.analysis.significance import Significance as Significance
    from cfbench.analysis.significance import compare_over_blocks as compare_over_blocks
    from cfbench.analysis.significance import compare_samples as compare_samples
    from cfbench.text import markdown_cell as markdown_cell
    from cfbench.text import spreadsheet_cell as spreadsheet_cell
    from cfbench.text import visible as visible

__all__, __getattr__, __dir__ = public_names(__name__)
