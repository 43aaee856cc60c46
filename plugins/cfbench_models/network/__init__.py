"""The neural network and its exact oracle. Start with `family.py`."""
