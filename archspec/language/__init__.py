"""The spec language: YAML with positions, expressions, and what evaluates them."""
