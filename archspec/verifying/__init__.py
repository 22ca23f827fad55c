"""Specs held to the oracle."""
