"""What a process and its children cost, as the kernel counts it (Linux)."""

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_s: float
    resident_mb: float


def usage_of(root: int) -> Usage:
    """Summed over the process and everything it started; memory that two share counts twice, against us."""
    members = tree(root)
    return Usage(
        sum(_cpu_s(process) for process in members),
        sum(_resident_bytes(process) for process in members) / 1e6,
    )


def tree(root: int) -> list[int]:
    parents = {int(entry.name): _parent(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit()}
    members = [root]
    for member in members:
        members.extend(process for process, parent in parents.items() if parent == member)
    return members


def stat_of(process: int) -> list[str]:
    """The fields after the command's name, which may itself contain blanks and brackets; empty if it has ended."""
    try:
        text = (PROC / str(process) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _parent(process: int) -> int:
    fields = stat_of(process)
    return int(fields[1]) if fields else 0


def _cpu_s(process: int) -> float:
    fields = stat_of(process)
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S if fields else 0.0


def _resident_bytes(process: int) -> int:
    fields = stat_of(process)
    return int(fields[21]) * PAGE_BYTES if fields else 0


def biggest_member(command: str) -> float:
    """The resident MB of the largest process below this one whose command line contains some text."""
    members = tree(os.getpid())[1:]
    return max((_resident_bytes(member) / 1e6 for member in members if command in _command(member)), default=0.0)


def _command(process: int) -> str:
    try:
        return (PROC / str(process) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
