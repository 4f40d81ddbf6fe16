"""What a registry costs: `python -m bench.registry` prints its start, its memory, cached reads and registrations.

Three nodes and one registry are processes of their own; requests come from this one, over a connection that stays open.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

HOST = "127.0.0.1"
KIND = {"content-type": "application/vnd.schemaregistry.v1+json"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=18_792, help="the first port that is used")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--registrations", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _cluster(folder, asked.port, asked.nodes):
        _measure(asked)


def _measure(asked: argparse.Namespace) -> None:
    port = asked.port - 1
    begin = time.perf_counter()
    words = ["registry", "-b", f"{HOST}:{asked.port}", "--port", str(port)]
    with subprocess.Popen(_command(*words), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            while not process.stderr.readline().startswith("registry: "):
                pass
            print(f"start: {time.perf_counter() - begin:.2f} s")
            print(f"memory when it begins: {_memory_mb(process.pid):.0f} MB")
            connection = HTTPConnection(HOST, port)
            times = [_register(connection, number) for number in range(asked.registrations)]
            times = sorted(times[1:])
            at = [f"p{part}: {1000 * times[len(times) * part // 100]:.1f} ms" for part in (50, 99)]
            print(f"register, {asked.nodes} nodes: {', '.join(at)}")
            begin = time.perf_counter()
            for number in range(asked.reads):
                _ask(connection, "GET", f"/schemas/ids/{1 + number % 100}")
            print(f"reads by id: {asked.reads / (time.perf_counter() - begin):,.0f} a second, one connection")
            print(f"memory in the end: {_memory_mb(process.pid):.0f} MB")
            connection.close()
        finally:
            process.terminate()
            process.communicate()


def _register(connection: HTTPConnection, number: int) -> float:
    schema = {"type": "record", "name": f"R{number}", "fields": [{"name": "a", "type": "int"}]}
    begin = time.perf_counter()
    _ask(connection, "POST", f"/subjects/s{number}/versions", json.dumps({"schema": json.dumps(schema)}))
    return time.perf_counter() - begin


def _ask(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> None:
    connection.request(method, path, body, KIND)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text


def _memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@contextlib.contextmanager
def _cluster(folder: str, port: int, nodes: int) -> Iterator[None]:
    words = ("--data-dir", folder)
    subprocess.run(
        _command("up", "--nodes", str(nodes), "--port", str(port), "--detach", *words), check=True, capture_output=True
    )
    try:
        yield
    finally:
        subprocess.run(_command("down", *words), check=True, capture_output=True)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "penstock.cli.main", *words]


if __name__ == "__main__":
    main()
