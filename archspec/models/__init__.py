"""The models of `archspec.load`, their formulas and reports."""
