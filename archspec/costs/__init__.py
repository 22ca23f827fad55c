"""Costs of a call and of a training step, from the same specs as the parameters."""
