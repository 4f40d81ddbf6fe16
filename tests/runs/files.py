"""How long each file of tests takes: the longest ones begin first, so that the workers end together, and a run prints
its ten slowest, and after `make test-quick` also which tests are too much work for that.

`PENSTOCK_REWRITE_LONG_FILES=1 make test` writes down anew which files are long.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SLOWEST = 10
LONG_S_MIN = 2.0
LONG_FILES = Path(__file__).parent / "long_files.txt"
OUTPUT = "penstock_file_seconds"
HEAVY_OUTPUT = "penstock_heavy_tests"
QUICK_CPU_S_MAX = 1.0
"""Of the processor, whatever else the machine does: what takes more should be marked slow."""


def read_long_files(text: str) -> dict[str, float]:
    """Seconds by file, from lines such as `12 tests/sim/test_seeds.py`."""
    lines = (line.split(maxsplit=1) for line in text.splitlines())
    return {path: float(seconds) for seconds, path in lines}


def write_long_files(seconds: dict[str, float]) -> str:
    longest = Counter({path: took for path, took in seconds.items() if took >= LONG_S_MIN}).most_common()
    return "".join(f"{took:.0f} {path}\n" for path, took in longest)


class Files:
    """Puts the longest first, and adds up what each took; a worker hands that to the process that it works for."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: Counter[str] = Counter()
        self._heavy: dict[str, float] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        long_files = read_long_files(LONG_FILES.read_text())
        # The order of the rest is kept.
        items.sort(key=lambda item: -long_files.get(_path_of(item), 0.0))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        result = yield
        self._seconds[_path_of(item)] += time.perf_counter() - began_s
        if (took_s := time.process_time() - began_cpu_s) > QUICK_CPU_S_MAX:
            self._heavy[item.nodeid] = took_s
        return result

    def pytest_sessionfinish(self) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[OUTPUT] = dict(self._seconds)
            output[HEAVY_OUTPUT] = self._heavy

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        # A worker that was killed has put out nothing.
        output = getattr(node, "workeroutput", {})
        self._seconds.update(output.get(OUTPUT, {}))
        self._heavy.update(output.get(HEAVY_OUTPUT, {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._seconds) <= SLOWEST:
            return
        terminalreporter.section(f"{SLOWEST} slowest files")
        for path, took in self._seconds.most_common(SLOWEST):
            terminalreporter.write_line(f"{took:7.1f} s  {path}")
        if self._heavy and os.environ.get("PENSTOCK_QUICK") == "1":
            terminalreporter.section("too much work for make test-quick: mark them slow")
            for name, took in sorted(self._heavy.items()):
                terminalreporter.write_line(f"{took:7.1f} s  {name}")
        if os.environ.get("PENSTOCK_REWRITE_LONG_FILES") == "1":
            LONG_FILES.write_text(write_long_files(self._seconds))


def _path_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
