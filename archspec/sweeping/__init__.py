"""What :mod:`archspec.sweep` and :mod:`archspec.solve` stand on: counts as functions of the fields that vary."""
