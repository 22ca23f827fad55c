"""The costs of a training step: FLOPs, activations, optimizer states, and the shares of ranks."""
