"""What to run: the study file, settings and variants, presets, the plan with the key of every cell, shards.

Imports `registry` and what is below it. Start with `study.py`, then `plan.py`.
"""
