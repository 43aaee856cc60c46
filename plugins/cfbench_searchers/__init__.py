"""The search algorithms that cfbench ships."""
