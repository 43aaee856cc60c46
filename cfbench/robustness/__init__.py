"""Perturbations of a counterfactual: how far they reach, setbacks (C), neighbours (K), random draws.

Imports `space`. Start with `reach.py`; the definitions are those of Virgolin and Fracaros.
"""
