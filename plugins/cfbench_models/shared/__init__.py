"""What all model families share: encoding, the scikit-learn contract, tuning, compilation.

Imports public names of cfbench only. Start with `scikit_model.py`.
"""
