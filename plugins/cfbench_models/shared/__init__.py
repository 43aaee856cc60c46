"""What the model families share: the compilation of their kernels.

Imports public names of cfbench only. Start with `compilation.py`.
"""
