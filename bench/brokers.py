"""The two brokers under one face: start, stop, where to reach it, what it costs."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Protocol, Self
from urllib.request import urlopen

from bench.compiling import CACHE, compiled
from bench.processes import Usage, usage_of
from tests.kafka_peer import SERVER_FLAGS, KafkaPeer, Tool, answers_api_versions, free_ports, java_command

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
FIRST_REPLY_POLL_S = 0.002

FLOOR_SOURCE = Path(__file__).resolve().parent / "floor" / "floor.c"

# Set alike on both sides: deleted topics must leave memory before the next round begins.
COMMON_SETTINGS = {
    "log.segment.delete.delay.ms": "500",
    "log.retention.check.interval.ms": "5000",
    "log.initial.task.delay.ms": "500",
}
OFTEN_CLEANED = {"log.retention.check.interval.ms": "1000"}


class Broker(Protocol):
    name: str
    # Whether topics can be made and deleted; without, every topic gets a fresh process.
    has_topics: bool

    @property
    def port(self) -> int: ...

    @property
    def data_dir(self) -> Path: ...

    def start(self) -> None:
        """Returns when the broker answers."""

    def stop(self) -> None: ...

    def usage(self) -> Usage: ...

    def restart_timed(self) -> float:
        """Seconds from executing a fresh process on formatted storage to its first reply; leaves it running."""

    def close(self) -> None:
        """Stops it and removes its data."""


class KafkaBroker:
    name = "kafka"
    has_topics = True

    def __init__(self) -> None:
        self._peer = KafkaPeer(scratch_folder("kafka"), properties=COMMON_SETTINGS, flags=SERVER_FLAGS)

    @property
    def port(self) -> int:
        return self._peer.port

    @property
    def data_dir(self) -> Path:
        return self._peer.log_dir

    def start(self) -> None:
        self._peer.format()
        self._peer.start()

    def stop(self) -> None:
        self._peer.stop()

    def usage(self) -> Usage:
        return usage_of(self._peer.pid)

    def restart_timed(self) -> float:
        self._peer.stop()
        command = java_command(Tool.SERVER, self._peer.folder / "server.properties", flags=SERVER_FLAGS)
        process, taken_s = seconds_to_first_reply(command, self._peer.port, self._peer.folder)
        end(process)
        self._peer.start()
        return taken_s

    def close(self) -> None:
        self._peer.stop()
        shutil.rmtree(self._peer.folder, ignore_errors=True)


class PenstockBroker:
    name = "penstock"
    has_topics = True

    def __init__(self, folder: Path | None = None, settings: dict[str, str] | None = None) -> None:
        self._folder = folder if folder is not None else scratch_folder("penstock")
        self._settings = {**COMMON_SETTINGS, **(settings or {})}
        self._port, self.metrics_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def brief(cls) -> Self:
        """One that looks for old segments every second, for loads that would otherwise fill the memory."""
        return cls(settings=OFTEN_CLEANED)

    @classmethod
    def brief_on_disk(cls) -> Self:
        CACHE.mkdir(parents=True, exist_ok=True)
        return cls(Path(tempfile.mkdtemp(prefix="disk-", dir=CACHE)), OFTEN_CLEANED)

    @property
    def port(self) -> int:
        return self._port

    @property
    def data_dir(self) -> Path:
        return self._cluster_folder / "node-1"

    @property
    def _cluster_folder(self) -> Path:
        """Apart from what it prints, because it wants an empty folder to begin with."""
        return self._folder / "cluster"

    def metric(self, name: str) -> float:
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=START_TIMEOUT_S) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        (value,) = [line.split()[1] for line in lines if line.split()[0] == name]
        return float(value)

    def start(self) -> None:
        command = [*penstock_command(), "up", "--port", str(self._port), "--data-dir", str(self._cluster_folder)]
        command += ["--metrics-port", str(self.metrics_port)]
        for key, value in self._settings.items():
            command += ["--set", f"{key}={value}"]
        self._process, _ = seconds_to_first_reply(command, self._port, self._folder)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end(process)

    def usage(self) -> Usage:
        assert self._process is not None, "the broker is not running"
        return usage_of(self._process.pid)

    def restart_timed(self) -> float:
        self.stop()
        command = [*penstock_command(), "node", "--config", str(self.data_dir / "server.properties")]
        process, taken_s = seconds_to_first_reply(command, self._port, self._folder)
        end(process)
        self.start()
        return taken_s

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


class FloorBroker:
    """The server that does only what no broker can avoid (bench/floor/floor.c)."""

    name = "floor"
    has_topics = False

    def __init__(self) -> None:
        self._folder = scratch_folder("floor")
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        return self._port

    @property
    def data_dir(self) -> Path:
        return self._folder

    def start(self) -> None:
        command = [str(compiled(FLOOR_SOURCE)), str(self._port), str(self._folder)]
        self._process, _ = seconds_to_first_reply(command, self._port, self._folder)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end(process)
        for file in self._folder.glob("*.log"):
            file.unlink()

    def usage(self) -> Usage:
        assert self._process is not None, "the server is not running"
        return usage_of(self._process.pid)

    def restart_timed(self) -> float:
        self.stop()
        started = time.monotonic()
        self.start()
        return time.monotonic() - started

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def penstock_command() -> list[str]:
    return [sys.executable, "-m", "penstock.cli.main"]


def seconds_to_first_reply(command: list[str], port: int, folder: Path) -> tuple[subprocess.Popen[bytes], float]:
    folder.mkdir(parents=True, exist_ok=True)
    if answers_api_versions(port):
        # It would be taken for the one that is started here, and measured in its place.
        raise RuntimeError(f"somebody answers at port {port} before {command[-1]} was started there")
    output = folder / "bench.out"
    with output.open("ab") as sink:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
    while not answers_api_versions(port):
        if process.poll() is not None or time.monotonic() - started > START_TIMEOUT_S:
            end(process)
            raise RuntimeError(f"{command} did not answer:\n{output.read_text(errors='replace')[-2000:]}")
        time.sleep(FIRST_REPLY_POLL_S)
    taken_s = time.monotonic() - started
    if process.poll() is not None:
        said = output.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{command} has ended, yet port {port} answers:\n{said}")
    return process, taken_s


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def scratch_folder(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"penstock-bench-{name}-", dir=scratch_place()))


def scratch_place() -> Path:
    """In memory, where the disk's write-back cannot decide the comparison; `BENCH_DIR` names another place."""
    chosen = os.environ.get("BENCH_DIR")
    memory = Path("/dev/shm")
    return Path(chosen) if chosen else memory if memory.is_dir() else Path(tempfile.gettempdir())


def touch_memory(megabytes: int) -> None:
    """Write and remove a file as large as the coming load.

    A virtual machine gives unused memory back to its host, and getting it again costs more than writing to it: here
    the C floor wrote 300 MB/s into such memory and 800 MB/s into memory that had just been used.
    """
    chunk = bytes(1 << 20)
    with tempfile.TemporaryFile(dir=scratch_place()) as file:
        for _ in range(megabytes):
            file.write(chunk)
