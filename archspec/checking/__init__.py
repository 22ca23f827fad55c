"""Compare the tensors of a checkpoint with the model of its config."""
