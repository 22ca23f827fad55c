"""Configs to try."""
