"""Everything that the paper shows, rendered from a record beside the paper's own numbers. Reads, never runs."""
