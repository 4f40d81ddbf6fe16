"""The heart of a run: a thread that tells the registry how the run is, and listens there for a request to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import LATEST, list_offsets
from penstock.client.pipeline_runs import HEARTBEAT_S, Registry, Run, State
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.progress import lag_of

LISTEN_MS: Final = 250
CLIENT_S_MAX: Final = 5.0
# Long enough for the last words of a run to reach a node that is being restarted.
FAREWELL_S_MAX: Final = 10.0


class Heartbeat:
    """Beats from `start` to `stop`. The run changes what is told with `update`; `stop_asked` is set by a request."""

    def __init__(self, cluster: Cluster, run: Run) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._run = run
        self._positions: Mapping[TopicPartition, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self.stop_asked = threading.Event()

    @property
    def run(self) -> Run:
        with self._lock:
            return self._run

    def start(self) -> None:
        self._thread.start()

    def update(self, positions: Mapping[TopicPartition, int] | None = None, **changes: Any) -> None:
        with self._lock:
            self._run = replace(self._run, **changes)
            if positions is not None:
                self._positions = positions

    def stop(self, state: State, error: str | None = None) -> None:
        """Tell how it ended, and beat no more."""
        self.update(state=state, error=error)
        self._over.set()
        self._thread.join(FAREWELL_S_MAX)

    def _beat(self) -> None:
        """A node that does not answer is no reason to die: the next beat may find it again."""
        while not self._over.is_set():
            try:
                with self._cluster.client("penstock-pipeline", CLIENT_S_MAX) as client:
                    self._beat_with(client)
            except ClientError:
                self._over.wait(HEARTBEAT_S)

    def _beat_with(self, client: Client) -> None:
        registry = Registry(client)
        registry.read()
        due = 0.0
        while not self._over.is_set():
            if time.monotonic() >= due:
                due = time.monotonic() + HEARTBEAT_S
                self._measure(client)
                registry.tell(self.run)
            registry.follow(LISTEN_MS)
            if registry.picture.is_asked_to_stop(self.run):
                self.stop_asked.set()
        self._measure(client)
        registry.tell(self.run)

    def _measure(self, client: Client) -> None:
        """Lag is measured here, where waiting for a node delays nobody."""
        with self._lock:
            positions = self._positions
        if not positions:
            return
        try:
            found = list_offsets(client, dict.fromkeys(positions, LATEST))
        except ClientError:
            # A source may read another cluster, or a topic that was deleted: then the lag is not known.
            self.update(lag=None)
            return
        self.update(lag=lag_of(positions, {where: one.offset for where, one in found.items()}))
