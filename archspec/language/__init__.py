"""The spec language: YAML with positions, expressions, and their evaluator."""
