"""The checks of searchers."""
