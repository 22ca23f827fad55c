"""Costs held to what torch counts of transformers' own code."""
