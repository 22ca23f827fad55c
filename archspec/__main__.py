"""`python -m archspec`."""

import sys

from archspec.cli.main import command

sys.exit(command())
