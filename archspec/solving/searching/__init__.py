"""Searches of a grid: over arrays, which NumPy gives, or one point after another."""
