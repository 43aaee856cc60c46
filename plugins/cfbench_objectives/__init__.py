"""The objectives that cfbench ships."""
