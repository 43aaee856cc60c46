"""The provably cheapest counterfactual on a forest, in named steps: see the documentation's page about it."""
