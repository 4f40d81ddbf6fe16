"""Jars that a test needs, fetched by Maven once and shared by all workers; Kafka's first of all."""

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

KAFKA_VERSION = "4.3.1"

POM = Path(__file__).resolve().parent / "pom.xml"
CACHE = POM.parent.parent.parent / ".cache"
FETCH_TIMEOUT_S = 600


def kafka_libs() -> Path:
    return fetched_jars(POM, f"kafka-{KAFKA_VERSION}")


@cache
def fetched_jars(pom: Path, name: str) -> Path:
    """The folder with the jars of a pom, filled first if it is not there or was filled for another pom."""
    home = CACHE / name
    libs, stamp = home / "libs", home / "pom.sha256"
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()
    home.mkdir(parents=True, exist_ok=True)
    with one_process_at_a_time(home / "lock"):
        if not stamp.exists() or stamp.read_text() != wanted:
            _fetch(pom, libs)
            stamp.write_text(wanted)
    return libs


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(f"`{name}` was not found on the PATH; these tests need Java 17 and Maven")
    return found


def _fetch(pom: Path, libs: Path) -> None:
    shutil.rmtree(libs, ignore_errors=True)
    command = [program("mvn"), "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={libs}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Maven could not fetch what {pom} names:\n{done.stdout}{done.stderr}")


@contextmanager
def one_process_at_a_time(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
