"""The files the rules look at: everything that is or would be committed."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "penstock"
BINARY_SUFFIXES = {".png", ".jpg", ".gif", ".svg", ".log", ".index", ".timeindex", ".bin", ".gz", ".xz"}


@cache
def project_files() -> tuple[Path, ...]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(listing.stdout.split("\0")) - {""})
    return tuple(ROOT / name for name in names if (ROOT / name).is_file())


def text_files() -> list[Path]:
    return [path for path in project_files() if path.suffix not in BINARY_SUFFIXES]


def python_files(below: Path = ROOT) -> list[Path]:
    return [path for path in project_files() if path.suffix == ".py" and path.is_relative_to(below)]


def name_of(path: Path) -> str:
    """The path as people write it, with forward slashes from the project's root."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """`src/penstock/core/log/segment.py` is `penstock.core.log.segment`."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def report(complaints: list[str]) -> str:
    return f"{len(complaints)} complaint(s):\n  " + "\n  ".join(complaints)
