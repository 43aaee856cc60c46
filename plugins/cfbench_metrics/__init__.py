"""The metrics that cfbench ships."""
