"""Who listens on a port. Linux tells it in two steps: the port's socket has a number, which a process has open."""

import os

_LISTEN = "0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def listener_of(port: int) -> tuple[int, str] | None:
    """The process that listens on a TCP port and its name; None where the system does not say."""
    sockets = {f"socket:[{inode}]" for table in _TABLES for inode in _listening(table, port)}
    if not sockets:
        return None
    for pid in filter(str.isdecimal, _names("/proc")):
        if any(_target(f"/proc/{pid}/fd/{fd}") in sockets for fd in _names(f"/proc/{pid}/fd")):
            return int(pid), _process_name(pid)
    return None


def _listening(table: str, port: int) -> list[str]:
    """The inodes of a table's listening sockets on a port."""
    try:
        with open(table, encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port]


def _names(folder: str) -> list[str]:
    """What is in a folder; nothing in those that are gone by now or belong to others."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _process_name(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "unknown"
