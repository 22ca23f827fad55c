"""Configs that come nearest a budget."""
