"""Configs that are refused before their values are checked: unknown names, and sizes that are not read."""
