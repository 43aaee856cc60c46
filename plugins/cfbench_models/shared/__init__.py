"""What all model families share: encoding, the scikit-learn contract, compilation."""
