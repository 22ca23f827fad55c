"""What a constructor would build: modules, tensors, ties, exact counts."""
