"""Java's class-data-sharing archive: half of Spark's start is loading the same classes, which an archive remembers.

The first session writes it as it ends, later ones map it. It lies inside the environment (`sys.prefix`), is named
after the Java and the Spark that it belongs to, and appears whole or not at all: it is written under another name by
whoever holds the lock, and renamed when Java has gone. Java checks what it is given, so a wrong one costs only time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

DUMP_S_MAX: Final = 60.0


def house() -> Path:
    """Where this package keeps what it makes for its environment."""
    return Path(sys.prefix) / "var" / "penstock"


class Archive:
    """The archive of one Java and one Spark; `options` tell Java to use it, or to write it."""

    def __init__(self, folder: Path, java_home: Path, spark_home: Path) -> None:
        self.path = folder / f"spark-{_fingerprint(java_home, spark_home)}.jsa"
        self._fresh = self.path.with_suffix(".new")
        self._lock: TextIO | None = None

    def options(self) -> list[str]:
        """Options for Java. Without an archive the first to come writes one; the others start without."""
        # A word about an archive that does not fit would land in the output of somebody's job.
        quiet = ["-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        if self.path.is_file():
            return [f"-XX:SharedArchiveFile={self.path}", *quiet]
        return [f"-XX:ArchiveClassesAtExit={self._fresh}", *quiet] if self._claim() else []

    @property
    def is_being_written(self) -> bool:
        return self._lock is not None

    def settle(self, java: subprocess.Popen[bytes]) -> None:
        """Wait for a Java that was told to end, and keep what it has written."""
        assert self._lock is not None, "only whoever writes the archive settles it"
        with suppress(subprocess.TimeoutExpired, OSError):
            java.wait(DUMP_S_MAX)
            self._fresh.replace(self.path)
        self._lock.close()
        self._lock = None

    def _claim(self) -> bool:
        """Whether this process is the one to write; the lock goes with the process, however that ends."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_suffix(".lock").open("w")
        except OSError:
            # An environment that cannot be written to works as well, only slower.
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        if self.path.is_file():
            lock.close()
            return False
        self._fresh.unlink(missing_ok=True)
        self._lock = lock
        return True


def _fingerprint(java_home: Path, spark_home: Path) -> str:
    """What must be the same for an archive to fit: the runtime, and the list of jars with their sizes."""
    digest = hashlib.sha256()
    for part in (java_home / "release", java_home / "bin" / "java"):
        with suppress(OSError):
            digest.update(f"{part} {part.stat().st_size} {part.stat().st_mtime_ns}\n".encode())
    with suppress(OSError), os.scandir(spark_home / "jars") as jars:
        for jar in sorted(jars, key=lambda entry: entry.name):
            digest.update(f"{jar.path} {jar.stat().st_size} {jar.stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
