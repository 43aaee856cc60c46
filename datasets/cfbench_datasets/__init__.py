"""The data sets that cfbench ships, and the loader that reads any annotated folder."""
