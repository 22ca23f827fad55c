"""`python -m archspec`."""

from archspec.cli.main import command

command()
