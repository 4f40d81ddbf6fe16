"""The process in which jobs run: it takes them from its standard input and gives what becomes of them to its standard
output.

When its input ends, whoever gave it work is gone, and it goes at once, whatever it is doing: another node may open the
same folder next, and must be alone there.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from queue import SimpleQueue
from threading import Thread

from penstock.core.base.errors import PenstockError
from penstock.core.base.ports import Job
from penstock.shell.jobs import Outcome, perform


def main() -> None:
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a job prints must not get among the results.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    jobs: SimpleQueue[Job] = SimpleQueue()
    Thread(target=_read, args=(jobs,), daemon=True).start()
    while True:
        pickle.dump(_outcome(jobs.get()), results)
        results.flush()


def _read(jobs: SimpleQueue[Job]) -> None:
    try:
        while True:
            jobs.put(pickle.load(sys.stdin.buffer))
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _outcome(job: Job) -> Outcome:
    try:
        return perform(job), None
    except OSError as error:
        return None, error
    except PenstockError as error:
        return None, OSError(str(error))
    except Exception as error:
        # Not every exception survives the way to another process.
        return None, OSError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
