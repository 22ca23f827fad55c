"""Runs of a config through a spec that record every decision, and configs that take another path."""
