"""`Broker`: one real node, from a clean start on any free port to the removal of its data."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.core.base.settings import SettingError
from penstock.shell.lock import FolderLocked
from penstock.shell.main import CannotStart
from penstock.testing.beside import Beside, ChildFailed
from penstock.testing.inside import Inside
from penstock.testing.serving import LOOPBACK, Ports, node_settings

START_S_MAX = 30.0
STOP_S_MAX = 40.0
HTTP_S_MAX = 10.0


class BrokerFailed(Exception):
    """The node could not start, or did not stop well; says why."""


class Broker:
    """A node to test against, in this process or, with `beside=True`, in one of its own that can be killed.

    Use it as a context manager, or `start` and `stop` it by hand. Between stops it keeps its port and its data.
    Without a folder its data is in a temporary one that is removed at the end, of the interpreter if nobody closes it
    before; a folder that is given is kept.
    """

    def __init__(
        self, settings: Mapping[str, object] | None = None, *, folder: str | Path | None = None, beside: bool = False
    ) -> None:
        self._given = {key: str(value) for key, value in (settings or {}).items()}
        self._owns_folder = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-test-")) if folder is None else Path(folder)
        self._beside = beside
        self._ports = Ports()
        self._running: Inside | Beside | None = None
        if self._owns_folder:
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
        assert self._ports.kafka, "a broker has a port once it was started"
        return self._ports.kafka

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process of a broker that runs beside."""
        assert isinstance(self._running, Beside), "only a running broker with beside=True has a process of its own"
        return self._running.pid

    def start(self) -> None:
        """Returns when the node serves. A second start finds the data of the first, on the same port."""
        assert self._running is None, "the broker is running"
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
        assert isinstance(self._running, Beside), "only a running broker with beside=True can be killed"
        running, self._running = self._running, None
        running.kill()

    def close(self) -> None:
        """Stop, and remove the data if it is ours."""
        try:
            self.stop()
        finally:
            if self._owns_folder:
                atexit.unregister(self._abandon)
                shutil.rmtree(self.folder, ignore_errors=True)

    def _abandon(self, owner_pid: int) -> None:
        """The interpreter ends, and nobody has closed this broker. Its threads can start no work any more, so there is
        no clean stop; and nothing that one would keep. A fork that ends leaves it to the process it came from."""
        if os.getpid() != owner_pid:
            return
        if isinstance(self._running, Beside):
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> None:
        """Create a topic; settings are named as in Kafka, with `_` for each dot: `cleanup_policy="compact"`."""
        with Client(self.bootstrap) as client:
            named = {key.replace("_", "."): str(value) for key, value in configs.items()}
            Admin(client).create_topic(name, partitions=partitions, configs=named)

    def talk(self) -> str:
        """What the running node has said since its start; a node that is well says little."""
        return "" if self._running is None else self._running.talk()

    def metrics(self) -> dict[str, float]:
        """The node's metrics, each under its name with labels as it stands in the exposition."""
        # Brings all of HTTP and TLS along, which most tests never need.
        from urllib.request import urlopen

        with urlopen(f"http://{self.host}:{self._ports.http}/metrics", timeout=HTTP_S_MAX) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        samples = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}
