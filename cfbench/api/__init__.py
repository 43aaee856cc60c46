"""cfbench from Python: the functions that the package's public names stand for. The engine is the command line's."""
