"""Logistic regression and its exact oracle.

Imports public names of cfbench only. Start with `family.py`.
"""
