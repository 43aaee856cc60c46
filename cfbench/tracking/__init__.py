"""What the core knows of a tracking store: addresses, and a record rebuilt from it. It never imports mlflow.

Imports `record` and what is below it. Start with `addresses.py`.
"""
