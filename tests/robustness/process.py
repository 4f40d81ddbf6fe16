"""What the system knows about another process."""

from __future__ import annotations

from pathlib import Path

RESET_PEAK = "5"


def resident_kb(pid: int) -> int:
    """Memory that a process really occupies."""
    return _status_kb(pid, "VmRSS:")


def start_resident_kb_max(pid: int) -> None:
    """Forget what a process occupied at most until now."""
    Path(f"/proc/{pid}/clear_refs").write_text(RESET_PEAK)


def resident_kb_max(pid: int) -> int:
    """What a process occupied at most since that was forgotten."""
    return _status_kb(pid, "VmHWM:")


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _status_kb(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no {field}")
