"""`Broker`: one real node, from a clean start on any free port to the removal of its data."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from penstock.api.values import Record
from penstock.client.blocking import Client
from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import SettingError
from penstock.shell.lock import FolderLocked
from penstock.shell.main import CannotStart
from penstock.testing import traffic
from penstock.testing.beside import Beside, ChildFailed
from penstock.testing.checking import (
    API_NAMES,
    check_values,
    checked_code,
    checked_count,
    checked_port,
    checked_seconds,
    checked_settings,
    require_one_of,
)
from penstock.testing.faults import DELAY, DISCONNECT, Fault
from penstock.testing.inside import Inside
from penstock.testing.serving import LOOPBACK, Ports, node_settings
from penstock.testing.traffic import RECORDS_S_MAX

START_S_MAX = 30.0
STOP_S_MAX = 40.0
HTTP_S_MAX = 10.0
# Stands for a temporary folder that is made when the settings are good.
LATER = "."


class BrokerFailed(Exception):
    """The node could not start, or did not stop well; says why."""


class Broker:
    """A node to test against, in this process or, with `beside=True`, in one of its own that can be killed.

    Use it as a context manager, or `start` and `stop` it by hand. Between stops it keeps its port and its data.
    Without a folder its data is in a temporary one that is removed at the end, of the interpreter if nobody closes it
    before; a folder that is given is kept. Misuse is a TypeError or a ValueError.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        port: int = 0,
        folder: str | Path | None = None,
        beside: bool = False,
    ) -> None:
        self._given = checked_settings(settings)
        self._ports = Ports(checked_port(port))
        check_values(node_settings(self._given, str(folder or LATER), self._ports))
        self._owns_folder = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-test-")) if folder is None else Path(folder)
        self._beside = beside
        self._running: Inside | Beside | None = None
        atexit.register(self._abandon, os.getpid())

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def host(self) -> str:
        return LOOPBACK

    @property
    def port(self) -> int:
        if not self._ports.kafka:
            raise ValueError("a broker has a port once it was started, or if it is given one")
        return self._ports.kafka

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process of a broker that runs beside."""
        return self._process("has a process of its own").pid

    def start(self) -> None:
        """Returns when the node serves. A second start finds the data of the first, on the same port."""
        if self._running is not None:
            raise ValueError("the broker is running already")
        settings = node_settings(self._given, str(self.folder), self._ports)
        self._running = Beside(settings) if self._beside else Inside(settings)
        try:
            self._ports = self._running.wait_ready(START_S_MAX)
        except (CannotStart, ChildFailed, FolderLocked, SettingError) as failure:
            self._running = None
            raise BrokerFailed(str(failure)) from None
        except TimeoutError:
            raise BrokerFailed(f"the broker was not ready within {START_S_MAX:.0f} s") from None

    def stop(self) -> None:
        """A clean stop: clients are cut off, everything is on disk."""
        running, self._running = self._running, None
        if running is None:
            return
        try:
            code = running.stop(STOP_S_MAX)
        except TimeoutError:
            raise BrokerFailed(f"the broker did not stop within {STOP_S_MAX:.0f} s") from None
        if code != 0:
            raise BrokerFailed(f"the broker did not stop cleanly (exit code {code}): {running.talk()}")

    def kill(self) -> None:
        """What `kill -9` does: no goodbye, nothing flushed. `start` brings the broker back."""
        running, self._running = self._process("can be killed"), None
        running.kill()

    def close(self) -> None:
        """Stop, and remove the data if it is ours."""
        try:
            self.stop()
        finally:
            atexit.unregister(self._abandon)
            self._remove_folder()

    def _abandon(self, owner_pid: int) -> None:
        """The interpreter ends, and nobody has closed this broker. Its threads can start no work any more, so there is
        no clean stop; and nothing that one would keep. A fork that ends leaves it to the process it came from."""
        if os.getpid() != owner_pid:
            return
        if isinstance(self._running, Beside):
            self.kill()
        elif self._running is not None:
            self._running.leave()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> None:
        """Create a topic; settings are named as in Kafka, with `_` for each dot: `cleanup_policy="compact"`."""
        with self._client() as client:
            traffic.create_topic(client, name, partitions, configs)

    def produce(self, topic: str, *values: str | bytes | None, **options: Any) -> list[int]:
        """Write records to one partition and wait until they are acknowledged; gives their offsets. Options for all of
        them: `key`, `headers`, `partition`, `timestamp_ms`."""
        sending = traffic.Sending(**options)
        with self._client() as client:
            return traffic.produce(client, topic, values, sending)

    def records(
        self, topic: str, count: int | None = None, *, partition: int | None = None, timeout_s: float = RECORDS_S_MAX
    ) -> list[Record]:
        """The topic's records, by partition and offset: those that are there now, or as soon as there are `count`."""
        with self._client() as client:
            return traffic.records(client, topic, count, partition, timeout_s)

    def fail(self, api: str, error: ErrorCode | str | int, times: int = 1) -> None:
        """Let the next requests of an API be answered with an error: `fail("Produce", "NOT_LEADER_OR_FOLLOWER", 2)`."""
        self._inject(Fault(api, checked_code(error).name, times))

    def delay(self, api: str, seconds: float, times: int = 1) -> None:
        """Let the answers to the next requests of an API be late, and with them all behind them on their connection."""
        self._inject(Fault(api, DELAY, times, delay_ms=round(checked_seconds(seconds) * 1000)))

    def disconnect(self, api: str, times: int = 1) -> None:
        """Let the next requests of an API lose their connection instead of being answered."""
        self._inject(Fault(api, DISCONNECT, times))

    def heal(self) -> None:
        """Forget what was to fail, to be late or to be cut off."""
        self._require_running().inject(None)

    def talk(self) -> str:
        """What the running node has said since its start; a node that is well says little."""
        return "" if self._running is None else self._running.talk()

    def metrics(self) -> dict[str, float]:
        """The node's metrics, each under its name with labels as it stands in the exposition."""
        # Brings all of HTTP and TLS along, which most tests never need.
        from urllib.request import urlopen

        with urlopen(f"http://{self.host}:{self._ports.http}/metrics/full", timeout=HTTP_S_MAX) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        samples = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    def _inject(self, fault: Fault) -> None:
        require_one_of(fault.api, API_NAMES, "API of a broker")
        checked_count(fault.times, "times")
        self._require_running().inject(fault)

    def _client(self) -> Client:
        self._require_running()
        return Client(self.bootstrap, client_id=traffic.CLIENT_ID)

    def _require_running(self) -> Inside | Beside:
        if self._running is None:
            raise ValueError("the broker does not run: start it, or use it in a `with`")
        return self._running

    def _process(self, what: str) -> Beside:
        if not isinstance(self._running, Beside):
            raise ValueError(f"only a running broker with beside=True {what}")
        return self._running
