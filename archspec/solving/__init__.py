"""Configs that come near a budget."""
