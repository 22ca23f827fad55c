"""LaTeX: formulas in lines, environments, tables and documents."""
