"""A module a verb."""
