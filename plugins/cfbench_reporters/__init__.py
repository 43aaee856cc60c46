"""The reporters that cfbench ships: the console and MLflow."""
