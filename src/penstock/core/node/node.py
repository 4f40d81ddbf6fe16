"""The node: one event in, decisions out. Its world calls `begin`, delivers one event, and calls `finish`.

Order of effects within a turn: appends have been handed to the files before `finish` returns; replies that depend on
them are among the output only once the files say so. Nothing here waits, reads a clock or opens anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Entropy, Files, Network, Steps
from penstock.core.base.settings import BrokerSettings, Endpoint, SettingError
from penstock.core.base.steps import Tasks
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import BROKER_RESOURCE, Image
from penstock.core.metadata.storage import Meta, new_uuid
from penstock.core.node import lifecycle
from penstock.core.node.cluster import Cluster
from penstock.core.node.connection import Connection
from penstock.core.node.coordinators import Coordinators
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.fetching import Fetching
from penstock.core.node.housekeeping import Housekeeping
from penstock.core.node.levels import DEFAULT_LEVEL, ROOT, is_loud_enough
from penstock.core.node.limits import UNLIMITED, Limits
from penstock.core.node.lineage import Lineage
from penstock.core.node.links import Links
from penstock.core.node.lookup import ImageTopics
from penstock.core.node.metrics import Metrics
from penstock.core.node.producer_ids import ProducerIds
from penstock.core.node.quorum.quorum import Quorum
from penstock.core.node.quorum.submissions import Committed
from penstock.core.node.replicas import Replicas
from penstock.core.node.replication import Replication
from penstock.core.node.slots import NO_REPLY, PENDING, Api, NoReply, Pending, Slot
from penstock.core.wire import Message
from penstock.core.wire.api_table import APIS
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.frames import API_VERSIONS_KEY, parse_request_header
from penstock.core.wire.schema import StoredRecord

Note = Callable[[str, str], None]

APPLY_RETRY_MS = 1_000
"""How long to wait before a metadata change that the disk refused to follow is acted upon again."""
CLOCK_STEP_MS = 100
"""A smaller difference between the two clocks is one of their rates and of rounding."""


class Node:
    """One broker, one controller, or both."""

    def __init__(
        self,
        settings: BrokerSettings,
        files: Files,
        entropy: Entropy,
        apis: Mapping[int, Api],
        log: Note = lambda level, text: None,
        network: Network | None = None,
    ) -> None:
        self.settings = settings
        self._static_settings = settings
        self.files = files
        self.tasks = Tasks(files)
        self.entropy = entropy
        self.apis = apis
        self._broker_apis = {key: api for key, api in apis.items() if APIS[key].on_brokers}
        self._controller_apis = {key: api for key, api in apis.items() if APIS[key].on_controllers}
        self._note = log
        self.limits = Limits.of(settings)
        self.metrics = Metrics()
        self.deadlines = Deadlines()
        self.state = "starting"
        self.failure: str | None = None
        self.has_opened = False
        """Whether everything that is on the disk is open, so that it must be closed in order."""
        self.disk_full = False
        self.now_ms = 0
        self.now_us = 0
        self.node_id: int = settings["node.id"]
        self.is_broker = settings.is_broker
        self.replication = Replication(self)
        self.links = Links(self, network, f"node-{self.node_id}")
        self.image = Image()
        self.advertised: Sequence[Endpoint] = settings.listeners.advertised
        self.host_name: str | None = settings["penstock.host"]
        self.boot_id: str | None = None
        self.controller_listeners = frozenset(name.upper() for name in settings["controller.listener.names"])
        self.log_levels = {ROOT: DEFAULT_LEVEL}
        self.connections: dict[Connection, None] = {}
        self.dirty: list[Connection] = []
        self._put_off: deque[Connection] = deque()
        self.fetching = Fetching(self)
        self.coordinators = Coordinators(self)
        self.producer_ids = ProducerIds(self)
        self.housekeeping = Housekeeping(self)
        self.topic_lookup = ImageTopics(self)
        self.meta: Meta
        self.quorum: Quorum
        self.cluster: Cluster
        self.lineage: Lineage
        self.replicas: Replicas
        self._served: dict[Api, int] = {}
        self._publishing: deque[tuple[Image, Delta, Committed]] = deque()

    # What the world calls

    def begin(self, now_ms: int, now_us: int | None = None) -> None:
        """Start a turn: this is its one `now`, by the wall clock and by one that only runs forward."""
        if now_us is None:
            now_us = now_ms * 1000
        step_ms = now_ms - self.now_ms - (now_us - self.now_us) // 1000
        if step_ms > CLOCK_STEP_MS or step_ms < -CLOCK_STEP_MS:
            # Somebody has set the clock: whoever waits for some time waits that time, not until some hour.
            self.deadlines.shift(step_ms)
        self.now_ms = now_ms
        self.now_us = now_us

    def start(self) -> None:
        """Open the storage; the node is running, or has failed, some turns later."""
        self.tasks.run(lifecycle.start(self), self.started)

    def stop(self) -> None:
        """Close everything; the node has stopped some turns later. One that has not opened all of it yet just ends."""
        if self.state == "running" or (self.state == "starting" and self.has_opened):
            self.cluster.leave(self._close)
        else:
            self.state = "stopped"

    def connect(self, host: str, port: int, listener: str = "PLAINTEXT") -> Connection | None:
        """Take a connection, or refuse it (None) where a limit is reached. Voters need each other to start."""
        is_early = self.state == "starting" and listener in self.controller_listeners
        is_open = self.state == "running" or (is_early and hasattr(self, "quorum") and self.quorum.has_begun)
        if not (is_open and self._has_listener(listener) and self._admits(host)):
            self.metrics.connections_refused += 1
            return None
        connection = Connection(self, host, port, listener)
        self.connections[connection] = None
        return connection

    def apis_on(self, listener: str) -> Mapping[int, Api]:
        """What is served on a listener, by key."""
        return self._controller_apis if listener in self.controller_listeners else self._broker_apis

    def tick(self) -> None:
        self.deadlines.run_due(self.now_ms)

    def next_deadline_ms(self) -> int | None:
        return self.deadlines.next_ms()

    def finish(self, now_us: int | None = None) -> list[Connection]:
        """End a turn: settle who was woken, and give the connections that have output or want to close."""
        fetching = self.fetching
        if fetching.woken:
            fetching.settle()
        for connection in self.dirty:
            if not connection.reading:
                connection.resume()
        if fetching.woken:
            fetching.settle()
        replication = self.replication
        if replication.woken or replication.proposals:
            replication.pump()
        if self._served:
            self._observe((now_us or self.now_us) - self.now_us)
        ready, self.dirty = self.dirty, []
        for connection in ready:
            connection.dirty = False
        return ready

    @property
    def is_unfinished(self) -> bool:
        """Whether `finish` has more to give: sending may have let a connection go on that had been held back."""
        return bool(self.dirty or self.fetching.woken)

    # What connections call

    def put_off(self, connection: Connection) -> None:
        """A connection has more to be served than its share of this turn. It goes on when everybody else had theirs."""
        self._put_off.append(connection)
        if len(self._put_off) == 1:
            self.deadlines.at(self.now_ms, self._go_on)

    def _go_on(self) -> None:
        """One in each turn."""
        connection = self._put_off.popleft()
        if self._put_off:
            self.deadlines.at(self.now_ms, self._go_on)
        connection.go_on()

    def dispatch(self, connection: Connection, frames: list[memoryview], at: int) -> int:
        """Run the request at a place of what has arrived; gives how many were run, as an API that knows how may take
        those behind it along. The hot path of everything: no task, no copy, one slot."""
        frame = frames[at]
        header = parse_request_header(frame)
        key, version, correlation_id, client_id, position = header
        api = connection.apis.get(key)
        if api is not None and api.straight and version in api.versions:
            taken = api.straight(self, connection, api, frames, at, header)
            if taken:
                return taken
        if api is None or version not in api.versions:
            api, version, request = self._unsupported(key, version)
        else:
            # What follows the message is let pass, as Kafka does: librdkafka asks for all topics with bytes to spare.
            request, _ = api.request.decode_from(frame, version, position)
        slot = Slot(connection, api, version, correlation_id, client_id, self.now_us)
        answer = api.handle(self, request, slot)
        if isinstance(answer, Message):
            parts, size = slot.encode(answer)
            if connection.slots:
                slot.parts, slot.size = parts, size
                connection.park(slot)
            else:
                self.served(api)
                connection.put(parts, size)
        elif answer is PENDING:
            connection.park(slot)
            if slot.parts is not None:
                connection.drain()
        elif answer is NO_REPLY:
            self.served(api)
        else:
            assert not isinstance(answer, Pending | NoReply)
            connection.park(slot)
            self.run_steps(slot, answer)
        return 1

    def served(self, api: Api, times: int = 1) -> None:
        """Requests were answered in the turn in which they came."""
        self._served[api] = self._served.get(api, 0) + times

    def answered(self, slot: Slot) -> None:
        self.metrics.observe(slot.api.name, self.now_us - slot.arrived_us, slot.requests)

    def cancelled(self, slot: Slot) -> None:
        """The connection of a parked request closed."""
        self.fetching.cancel(slot)
        self.coordinators.cancel(slot)

    def disconnected(self, connection: Connection) -> None:
        self.connections.pop(connection, None)
        self.cluster.controller.lost(connection)

    # What handlers call

    def submit(self, records: Sequence[StoredRecord], done: Committed) -> None:
        """Put records into the metadata log; `done` comes once they are committed and this node has acted on them."""
        self.quorum.submit(records, self.now_ms, done)

    def publish(self, image: Image, delta: Delta, done: Committed) -> None:
        """A committed image: act on the differences one by one, in the order they were committed."""
        self._publishing.append((image, delta, done))
        if len(self._publishing) == 1:
            self._apply_next()

    def reconfigure(self) -> None:
        """Take the broker settings that the metadata holds, on top of those of the file. Where they contradict a file
        that has changed since, the node goes on without them and says so, as Kafka does."""
        own = self.image.config(BROKER_RESOURCE, str(self.node_id))
        for_all = self.image.config(BROKER_RESOURCE, "")
        if own or for_all or self.settings is not self._static_settings:
            try:
                self.settings = self._static_settings.with_dynamic(own, for_all)
            except SettingError as error:
                self.log("error", f"settings changed while running are not in force: {'; '.join(error.problems)}")
                return
            self.limits = Limits.of(self.settings)
            if hasattr(self, "replicas"):
                self.replicas.settings = self.settings

    def log(self, level: str, text: str) -> None:
        """A line for whoever runs this node, if the level lets it through."""
        if is_loud_enough(level, self.log_levels[ROOT]):
            self._note(level, text)

    def set_log_level(self, name: str, level: str | None) -> None:
        self.log_levels[name] = level or DEFAULT_LEVEL

    def new_id(self) -> bytes:
        return new_uuid(self.entropy.bytes(16))

    def error(self, api: str, code: ErrorCode) -> int:
        """Count an error that a client is told about."""
        self.metrics.errors[api, code.name] += 1
        return int(code)

    def fail(self, reason: str) -> None:
        """Something that this process cannot survive."""
        self.failure = reason
        self.state = "failed"
        self.log("error", reason)

    def started(self, outcome: object) -> None:
        """A part of the start has ended."""
        if isinstance(outcome, Exception):
            self.fail(lifecycle.explain(outcome, self.settings.log_dir))

    # Inside

    def _close(self) -> None:
        self.state = "stopping"
        self.tasks.run(lifecycle.stop(self), self._stopped)

    def _stopped(self, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self.fail(f"not everything could be written when stopping: {outcome}")
        else:
            self.state = "stopped"

    def _has_listener(self, listener: str) -> bool:
        """Whether a listener belongs to what this node is."""
        return self.settings.is_controller if listener in self.controller_listeners else self.is_broker

    def _admits(self, host: str) -> bool:
        if len(self.connections) >= self.limits.connections_max:
            return False
        per_ip_max = self.limits.per_ip_max(host)
        return per_ip_max >= UNLIMITED or sum(each.host == host for each in self.connections) < per_ip_max

    def _unsupported(self, key: int, version: int) -> tuple[Api, int, Message | None]:
        """Only ApiVersions may be asked in a version nobody knows; it answers in its oldest one."""
        if key != API_VERSIONS_KEY:
            raise DecodeError(f"API key {key} version {version} is not supported")
        return self.apis[key], 0, None

    def run_steps(self, slot: Slot, steps: Steps[Message]) -> None:
        """Let a handler that reads files go on by itself; its slot waits for what it returns."""

        def finished(outcome: Message | Exception) -> None:
            if isinstance(outcome, Message):
                slot.reply(outcome)
            else:
                self.handler_failed(slot, outcome)

        self.tasks.run(steps, finished)

    def handler_failed(self, slot: Slot, error: Exception) -> None:
        """A handler that breaks half-way cannot answer; closing tells the client to ask again."""
        self.log("error", f"{slot.api.name} failed: {error!r}")
        slot.connection.close()

    def _apply_next(self) -> None:
        image, delta, _ = self._publishing[0]
        self.image = image
        if any(key.startswith(f"{BROKER_RESOURCE}/") for key in delta.configs):
            self.reconfigure()
        self.tasks.run(self.replicas.apply(image, delta, self.now_ms), self._applied)

    def _applied(self, outcome: object) -> None:
        _, delta, done = self._publishing.popleft()
        if isinstance(outcome, Exception):
            self.log("error", f"acting on a metadata change failed and will be tried again: {outcome}")
            self.deadlines.at(self.now_ms + APPLY_RETRY_MS, lambda: self.publish(self.image, delta, lambda code: None))
        self.coordinators.apply(delta)
        self.cluster.image_changed()
        done(ErrorCode.KAFKA_STORAGE_ERROR if isinstance(outcome, Exception) else ErrorCode.NONE)
        if self._publishing:
            self._apply_next()

    def _observe(self, elapsed_us: int) -> None:
        for api, times in self._served.items():
            self.metrics.observe(api.name, elapsed_us, times)
        self._served.clear()
