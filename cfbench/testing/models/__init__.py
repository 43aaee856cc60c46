"""The checks of models and of their oracles."""
