"""The daemon of Spark's Python workers, without a traceback where Spark hangs up on one.

Spark takes no more from a worker than it needs: after `show(3)`, or a stopped query, it closes the connection, and what
the worker has still to say meets a broken pipe. That is not an error of anybody's, and is the same for Spark; but it
prints a traceback of twenty lines into terminals and notebooks. All others are printed.
"""

from __future__ import annotations

import sys
import traceback
from types import SimpleNamespace


def print_unless_hung_up() -> None:
    """What the daemon does with an exception that ends a worker."""
    if not isinstance(sys.exc_info()[1], BrokenPipeError):
        traceback.print_exc()


def main() -> None:
    from pyspark import daemon

    quiet = SimpleNamespace(print_exc=print_unless_hung_up, format_exc=traceback.format_exc)
    daemon.traceback = quiet  # type: ignore[attr-defined, assignment]  # It has no other way in.
    daemon.manager()


if __name__ == "__main__":
    main()
