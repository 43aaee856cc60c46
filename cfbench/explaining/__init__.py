"""One case and one model: the functions behind ``cfbench.explain`` and ``cfbench explain``.

Imports `running`, `board` and what is below them. Start with `explain.py`.
"""
