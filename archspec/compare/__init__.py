"""Compare two models, and show several in a table."""
