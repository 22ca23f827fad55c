"""Counts as functions of the fields that vary, over grids of configs."""
