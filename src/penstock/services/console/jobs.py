"""What takes longer than a page: runs in a thread of its own, tells how far it is, and can be stopped."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from penstock.client.errors import ClientError
from penstock.services.console.mistakes import Mistake

JOBS_AT_ONCE_MAX: Final = 2
KEPT_MAX: Final = 100


class Stopped(Exception):
    """Somebody wanted it to end."""


class Job:
    """`user` may see it, and stop it."""

    def __init__(self, title: str, user: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.title = title
        self.user = user
        self.done = 0
        self.state = "waits"
        self.failure: str | None = None
        self._stop = threading.Event()

    @property
    def is_over(self) -> bool:
        return self.state not in ("waits", "runs")

    def advance(self, count: int) -> None:
        """So much more is done; ends the work where that is wanted."""
        self.done += count
        self.check()

    def check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def stop(self) -> None:
        self._stop.set()

    def run(self, work: Callable[[Job], None]) -> None:
        self.state = "runs"
        try:
            self.check()
            work(self)
            self.state = "done"
        except Stopped:
            self.state = "stopped"
        except (ClientError, Mistake) as failure:
            self.state, self.failure = "failed", str(failure)
        except Exception:
            self.state, self.failure = "failed", "by a mistake of the console; its log says which"
            raise


class Jobs:
    """Those of everybody."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(JOBS_AT_ONCE_MAX, "console-job")
        self._all: OrderedDict[str, Job] = OrderedDict()

    def start(self, title: str, user: str, work: Callable[[Job], None]) -> Job:
        job = Job(title, user)
        self._all[job.id] = job
        while len(self._all) > KEPT_MAX and (oldest := next(iter(self._all.values()))).is_over:
            self._all.pop(oldest.id)
        if len(self._all) > KEPT_MAX:
            self._all.pop(job.id)
            raise Mistake("too much is under way already", "wait until some of it is done", 429)
        self._threads.submit(job.run, work)
        return job

    def find(self, id: str, user: str) -> Job:
        job = self._all.get(id)
        if job is None or job.user != user:
            raise Mistake("nothing of yours is under way there", None, 404)
        return job

    def close(self) -> None:
        for job in self._all.values():
            job.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
