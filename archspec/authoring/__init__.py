"""Functions for authors of specs, with their reports: specs validated against code, and drafted from it."""
