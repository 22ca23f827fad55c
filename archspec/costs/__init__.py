"""Costs of a forward pass and of a training step, from the same specs as the parameters."""
