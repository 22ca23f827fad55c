"""Tasks for a test of the pool of processes: some end badly."""

from __future__ import annotations

import os
import time


def work(task: int) -> int:
    if task == 1:
        os._exit(7)
    if task == 2:
        raise ValueError("no")
    if task == 3:
        time.sleep(600)
    return task * 10
