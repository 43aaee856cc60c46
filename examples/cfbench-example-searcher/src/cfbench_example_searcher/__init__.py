"""The search algorithm example-searcher for cfbench."""
