"""Specs drafted from constructors: the classes' own source, read with configs that carry expressions."""
