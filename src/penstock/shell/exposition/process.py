"""The process and its host: memory, processor, files, disk; and how busy the loop is."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from penstock.core.node.node import Node
from penstock.shell.exposition.families import COUNTER, GAUGE, Family, labels, single

WINDOW_US: Final = 60_000_000
"""Over which the share of idle time is taken."""
SAMPLES_MAX: Final = 64
STATUS: Final = "/proc/self/statm"
DESCRIPTORS: Final = "/proc/self/fd"
IO: Final = "/proc/self/io"


class Moment(NamedTuple):
    """How long the loop had been busy by then."""

    at_us: int
    busy_us: int


class IdleShare:
    """The share of the last minute in which the loop had nothing to do, as far back as anybody has asked."""

    def __init__(self) -> None:
        self._moments: deque[Moment] = deque([Moment(0, 0)], maxlen=SAMPLES_MAX)

    def at(self, now_us: int, busy_us: int) -> float:
        moments = self._moments
        if moments[0].at_us == 0:
            moments[0] = Moment(now_us, busy_us)
        while len(moments) > 1 and moments[1].at_us <= now_us - WINDOW_US:
            moments.popleft()
        passed_us = now_us - moments[0].at_us
        share = 1.0 if passed_us <= 0 else 1 - (busy_us - moments[0].busy_us) / passed_us
        if now_us - moments[-1].at_us >= WINDOW_US // SAMPLES_MAX:
            moments.append(Moment(now_us, busy_us))
        return min(max(share, 0.0), 1.0)


def loop_families(node: Node, idle: IdleShare) -> Iterator[Family]:
    """Kafka has threads for sockets and for requests; here one loop does both."""
    metrics = node.metrics
    share = idle.at(node.now_us, metrics.busy_us)
    text = "The share of time in which the loop waits, between 0 and 1."
    yield single("kafka_network_socketserver_networkprocessoravgidle_percent", GAUGE, text, share)
    yield single("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", GAUGE, text, share)
    yield single("penstock_loop_busy_seconds_total", COUNTER, "How long the loop has worked.", metrics.busy_us / 1e6)
    text = "Turns of 20 ms and more: nobody was served meanwhile."
    yield single("penstock_loop_stalls_total", COUNTER, text, metrics.stalls)
    text = "The longest turn so far, in milliseconds."
    yield single("penstock_loop_stall_ms_max", GAUGE, text, metrics.stall_ms_max)


def process_families() -> Iterator[Family]:
    """Under the names that Prometheus' own client libraries use."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    text = "Processor time that the process has used."
    yield single("process_cpu_seconds_total", COUNTER, text, used.ru_utime + used.ru_stime)
    yield single("penstock_time_seconds", GAUGE, "The clock of the node, to compare with others.", time.time())
    pages = _first_numbers(STATUS)
    if len(pages) > 1:
        size = resource.getpagesize()
        yield single("process_virtual_memory_bytes", GAUGE, "Addresses in use.", pages[0] * size)
        yield single("process_resident_memory_bytes", GAUGE, "Memory in use.", pages[1] * size)
    with suppress(OSError):
        yield single("process_open_fds", GAUGE, "Open files and sockets.", len(os.listdir(DESCRIPTORS)))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield single("process_max_fds", GAUGE, "How many there may be.", limit)
    collections = ((labels(generation=at), each["collections"]) for at, each in enumerate(gc.get_stats()))
    yield Family("python_gc_collections_total", COUNTER, "Rounds of Python's garbage collector.", collections)
    yield from _disk_use()


def _disk_use() -> Iterator[Family]:
    name = "kafka_server_kafkaserver_linux_disk"
    found = dict(line.split(": ", 1) for line in _lines(IO) if ": " in line)
    if "read_bytes" in found and "write_bytes" in found:
        yield single(f"{name}_read_bytes", GAUGE, "Bytes read from disks.", int(found["read_bytes"]))
        yield single(f"{name}_write_bytes", GAUGE, "Bytes written to disks.", int(found["write_bytes"]))


def _first_numbers(path: str) -> list[int]:
    lines = _lines(path)
    return [int(each) for each in lines[0].split()] if lines else []


def _lines(path: str) -> list[str]:
    """Where there is no such file, as on other systems, nothing is told."""
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []
