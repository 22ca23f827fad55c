"""Spec files checked without a config."""
