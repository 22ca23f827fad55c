"""Image processors: rules from a height and a width to those of tensors."""
