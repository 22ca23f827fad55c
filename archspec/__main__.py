"""`python -m archspec`."""

from __future__ import annotations

from archspec.cli.main import command

command()
