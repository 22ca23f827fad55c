"""The result of a constructor: modules, tensors, ties, exact counts."""
