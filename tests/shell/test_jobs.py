"""Jobs run in a process of their own, which may die, and which never outlives whoever gave it work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.core.base.ports import Job
from penstock.shell.children import environment
from penstock.shell.jobs import RealJobFiles, Workers
from tests.waiting import wait_until

SECONDS_MAX = 60.0


def pid_of(files: RealJobFiles) -> int:
    return os.getpid()


def say(files: RealJobFiles, text: str) -> str:
    print("this is not for the node")
    return text


def fail(files: RealJobFiles, error: Exception) -> None:
    raise error


class Stubborn(Exception):
    """One that does not survive the way to another process."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


def fail_stubbornly(files: RealJobFiles) -> None:
    raise Stubborn("no", "way")


def tell_and_wait(files: RealJobFiles, path: str) -> None:
    """Say which process this is, and never come to an end."""
    files.append(f"{path}.new", b"%d" % os.getpid())
    os.rename(f"{path}.new", path)
    signal.pause()


def told(path: Path) -> int:
    wait_until(path.exists, timeout_s=SECONDS_MAX, what="the job has begun")
    return int(path.read_bytes())


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.close()


def test_what_a_job_gives_comes_back(workers: Workers) -> None:
    assert workers.run(Job(say, ("hello",))).result(SECONDS_MAX) == "hello"
    first = workers.run(Job(pid_of, ())).result(SECONDS_MAX)
    assert first not in (os.getpid(), None)
    assert workers.run(Job(pid_of, ())).result(SECONDS_MAX) == first, "one process does all of them"


def test_why_a_job_gives_nothing_comes_back(workers: Workers) -> None:
    error = workers.run(Job(fail, (FileNotFoundError(2, "not there"),))).exception(SECONDS_MAX)
    assert isinstance(error, FileNotFoundError)
    assert error.errno == 2
    assert str(workers.run(Job(fail_stubbornly, ())).exception(SECONDS_MAX)) == "Stubborn: no way"
    assert workers.run(Job(say, ("well",))).result(SECONDS_MAX) == "well"


@pytest.mark.slow
def test_a_process_that_was_killed_is_started_anew(workers: Workers, tmp_path: Path) -> None:
    """The memory of a machine may not be enough for it; compaction goes on all the same."""
    idle = workers.run(Job(pid_of, ())).result(SECONDS_MAX)
    os.kill(idle, signal.SIGKILL)
    process = next(each._process for each in workers._workers if each._process is not None)
    # Its first thread may be gone before the others are, and then it cannot be seen yet that it is dead.
    wait_until(lambda: process.poll() is not None, timeout_s=SECONDS_MAX, what="it is dead")
    assert workers.run(Job(pid_of, ())).result(SECONDS_MAX) != idle
    under_way = workers.run(Job(tell_and_wait, (str(tmp_path / "pid"),)))
    os.kill(told(tmp_path / "pid"), signal.SIGKILL)
    assert "ended with -9" in str(under_way.exception(SECONDS_MAX))
    assert workers.run(Job(say, ("again",))).result(SECONDS_MAX) == "again"


def test_what_is_under_way_is_given_up_at_the_end(workers: Workers, tmp_path: Path) -> None:
    under_way, waiting = workers.run(Job(tell_and_wait, (str(tmp_path / "pid"),))), workers.run(Job(pid_of, ()))
    pid = told(tmp_path / "pid")
    workers.close()
    assert isinstance(under_way.exception(SECONDS_MAX), OSError)
    assert waiting.cancelled()
    assert not is_alive(pid)


SCRIPT = """
import sys
from penstock.core.base.ports import Job
from penstock.shell.jobs import Workers
from tests.shell.test_jobs import tell_and_wait

print("the script was run", flush=True)
Workers().run(Job(tell_and_wait, (sys.argv[1],))).result()
"""


@pytest.mark.slow
def test_a_script_is_not_run_again_and_its_process_leaves_none_behind(tmp_path: Path) -> None:
    script, path = tmp_path / "script.py", tmp_path / "pid"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        pid = told(path)
        process.kill()
        assert process.stdout is not None
        assert process.stdout.read() == "the script was run\n"
    wait_until(lambda: not is_alive(pid), timeout_s=SECONDS_MAX, what="the worker has followed")
