"""Notes on the costs of a call."""
