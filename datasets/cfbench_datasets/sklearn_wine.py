"""The wine data set: the three-class table that scikit-learn ships."""

from __future__ import annotations

from cfbench_datasets.table import Table


def wine_table() -> Table:
    """Return scikit-learn's table in the form of a data.csv, every value to its last bit."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    return Table(
        origin="sklearn.datasets.load_wine()",
        header=(*wine.feature_names, "cultivar"),
        rows=[
            [*(repr(float(value)) for value in row), str(label)]
            for row, label in zip(wine.data, wine.target, strict=True)
        ],
    )
