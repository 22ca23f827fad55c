"""Verbs of what a call costs, a module a verb."""
