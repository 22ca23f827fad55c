"""The same tree over SymPy expressions, and the closed forms that it gives."""
