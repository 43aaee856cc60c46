"""The checks of objectives."""
