"""Formulas and models as people read them: symbols, languages, arrangements."""
