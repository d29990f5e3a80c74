"""What a Python worker of Spark does once, before its first task: cheaper memory."""

from __future__ import annotations

import ctypes
import gc
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of two parameters of glibc's ``mallopt``."""
_KEPT_BYTES, _LARGEST_KEPT = 256 << 20, 32 << 20


@cache
def prepare_worker() -> None:
    """Settle the process; a second call does nothing."""
    _spare_collector()
    _keep_freed_memory()


def _spare_collector() -> None:
    """Take what the worker has imported out of the reach of garbage collection.

    Between two tasks Spark's daemon has every worker collect its garbage; going through all
    modules anew takes longer than many a task.
    """
    gc.freeze()


def _keep_freed_memory() -> None:
    """Let glibc keep the memory of columns instead of giving it back to the system each time.

    Otherwise each intermediate column of a page is paged in anew, which takes more time
    than the arithmetic. Other C libraries do without.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
