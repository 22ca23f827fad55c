"""`python -m archspec`."""

import sys

from archspec.cli.main import main

sys.exit(main())
