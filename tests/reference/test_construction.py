"""Classes as transformers builds them on meta."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.reference


def test_what_a_constructor_prints_has_no_place_in_a_report() -> None:
    """PE's says which docstrings it lacks, the first time that a process builds it."""
    code = (
        "from archspec.reference.construction import transformers_rows\n"
        "raw = {'model_type': 'pe_video'}\n"
        "print(len(transformers_rows('PeVideoModel', raw, 'pe_video')) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
