"""Specs as records: read, inherited, found by name."""
