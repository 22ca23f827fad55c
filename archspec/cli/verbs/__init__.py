"""Verbs of what a model holds, a module a verb."""
