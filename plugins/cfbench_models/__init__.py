"""The black-box models that cfbench ships."""
