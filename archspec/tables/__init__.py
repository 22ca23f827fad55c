"""The tables that everything else is generated from: quantities, axes of a forward pass, options and verbs.

The command line, Python signatures, JSON Schemas, help texts and the page's forms follow them; weight formats
are the fourth table, in :mod:`archspec.formats`. After an edit, `python -m tools.release` rewrites the
signatures and the files of the page.
"""
