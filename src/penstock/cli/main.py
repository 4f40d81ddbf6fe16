"""The entry point: starting things must be instant, so the commands that start things never load the others.

Typer and rich take longer to import than a node takes to serve. `up`, `node` and their siblings are therefore read by
a plain parser (`cli.plain`); everything else, and every `--help`, goes to the full application (`cli.app`).
"""

import gc
import os
import sys
from collections.abc import Sequence

from penstock import WHERE_IT_RUNS
from penstock.cli.talk import advice, close_stdout, complain, open_missing_streams

HELP = frozenset({"--help", "-h"})
PLAIN_COMMANDS = frozenset({"up", "down", "status", "reset", "node", "registry", "console"})
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit code: 0 done, 1 failed, 2 used wrongly."""
    if sys.platform == "win32":
        # What nodes and their folders stand on is not there: locks, limits, signals.
        return complain(WHERE_IT_RUNS, "wsl --install, then install it there: pip install penstock")
    arguments = list(sys.argv[1:] if argv is None else argv)
    open_missing_streams()
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        close_stdout()
        return 0
    except OSError as failure:
        # Files and folders that cannot be used: the system's own words say it best.
        where = f"{failure.filename}: " if failure.filename is not None else ""
        return complain(f"{where}{failure.strerror or failure}", advice(failure))


def _run(arguments: list[str]) -> int:
    completing = "_PENSTOCK_COMPLETE" in os.environ
    if arguments and arguments[0] in PLAIN_COMMANDS and not HELP.intersection(arguments) and not completing:
        if arguments[0] == "node":
            # What it loads now stays for its life. To look for garbage among that would be a tenth of its start.
            gc.disable()
        from penstock.cli import plain

        return plain.run(arguments[0], arguments[1:])
    from penstock.cli import app

    return app.complete() if completing else app.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
