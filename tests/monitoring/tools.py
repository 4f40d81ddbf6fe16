"""Prometheus and its promtool: those of the system, or Debian's package, unpacked into .cache and not installed."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "prometheus"
PACKAGE: Final = "prometheus"
FETCH_S_MAX: Final = 300.0


def promtool() -> str:
    return _program("promtool")


def prometheus() -> str:
    return _program("prometheus")


def systemd_analyze() -> str:
    """Comes with the system itself, and stands on its libraries: it is installed where it is not there."""
    installed("systemd-analyze", package="systemd")
    return "systemd-analyze"


def installed(*programs: str, package: str | None = None) -> None:
    """Programs that want to be in their places; Debian's packages have their names, unless another one is named."""
    missing = [package or program for program in programs if _found(program) is None]
    if missing:
        with _alone():
            install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *missing]
            subprocess.run(install, timeout=FETCH_S_MAX, check=True, capture_output=True)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a checker says; it must be content."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False, cwd=cwd)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def _found(name: str) -> str | None:
    return shutil.which(name)


def _program(name: str) -> str:
    found = _found(name)
    if found is not None:
        return found
    unpacked = CACHE / PACKAGE
    program = unpacked / "usr" / "bin" / name
    with _alone():
        if not program.exists():
            _fetch(unpacked)
    assert program.exists(), f"Debian's package {PACKAGE} has no {name}"
    return str(program)


def _fetch(into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    fetched = CACHE / "deb"
    fetched.mkdir(parents=True, exist_ok=True)
    if not _download(fetched):
        # The lists of packages may never have been fetched, or be too old.
        subprocess.run(["apt-get", "update", "-qq"], timeout=FETCH_S_MAX, check=False, capture_output=True)
        assert _download(fetched), f"apt-get cannot download {PACKAGE}; install it"
    (archive,) = fetched.glob(f"{PACKAGE}_*.deb")
    subprocess.run(["dpkg-deb", "-x", archive, into], timeout=FETCH_S_MAX, check=True)
    archive.unlink()


def _download(into: Path) -> bool:
    command = ["apt-get", "download", "-qq", PACKAGE]
    done = subprocess.run(command, cwd=into, timeout=FETCH_S_MAX, check=False, capture_output=True)
    return done.returncode == 0


@contextmanager
def _alone() -> Iterator[None]:
    """Several workers may want it at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
