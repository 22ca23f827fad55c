"""Validation of specs against the reference models of transformers."""
