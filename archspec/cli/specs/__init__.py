"""Verbs for those who write specs: lint, hold to transformers, draft; a module a verb."""
