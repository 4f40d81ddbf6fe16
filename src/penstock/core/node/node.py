"""The node: one event in, decisions out. Its world calls `begin`, delivers one event, and calls `finish`.

Order of effects within a turn: appends have been handed to the files before `finish` returns; replies that depend on
them are among the output only once the files say so. Nothing here waits, reads a clock or opens anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import (
    Entropy,
    Files,
    Network,
    NoKeys,
    NoNote,
    RuntimeNote,
    SigningKeys,
    Steps,
    found_no_room,
)
from penstock.core.base.settings import BrokerSettings, SettingError
from penstock.core.base.steps import Tasks
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import BROKER_RESOURCE, Image
from penstock.core.metadata.storage import Meta, new_uuid
from penstock.core.node.coordination.coordinators import Coordinators
from penstock.core.node.coordination.lookup import ImageTopics
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.housekeeping import Housekeeping
from penstock.core.node.links.links import links_of
from penstock.core.node.membership.cluster import Cluster
from penstock.core.node.membership.producer_ids import ProducerIds
from penstock.core.node.observing.event_log import EventLog, Fact, Tell
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.quorum.quorum import Quorum
from penstock.core.node.quorum.submissions import OnCommitted
from penstock.core.node.replication.replication import Replication
from penstock.core.node.scrub import Scrub
from penstock.core.node.serving.admission import Admission
from penstock.core.node.serving.api import Api, Runs
from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.dispatching import Dispatcher
from penstock.core.node.serving.frame_memory import FrameMemory
from penstock.core.node.serving.guarding import gates_of, holding_to
from penstock.core.node.serving.later_turns import LaterTurns
from penstock.core.node.serving.limits import Limits
from penstock.core.node.serving.slots import Slot
from penstock.core.node.serving.staging import Staging
from penstock.core.node.sharing.readers import readers_of
from penstock.core.node.storage.lineage import Lineage
from penstock.core.node.storage.losses import Losses
from penstock.core.node.storage.replicas import Replicas
from penstock.core.wire.api_table import APIS
from penstock.core.wire.schema import Message, StoredRecord

APPLY_RETRY_MS = 1_000
"""How long to wait before a metadata change that the disk refused to follow is acted upon again."""
MEANS_RETRY_MS = 50
"""How long to wait before something is asked for again that lacked a descriptor or memory."""
CLOCK_STEP_MS = 100
"""A smaller difference between the two clocks is one of their rates and of rounding."""


class Life(Protocol):
    """How a node opens its folder and closes it."""

    def start(self, node: Node) -> Steps[None]: ...

    def stop(self, node: Node) -> Steps[None]: ...

    def explain(self, error: Exception, root: str) -> str: ...


class Node:
    """One broker, one controller, or both."""

    # What the start brings, in this order: whose folder it is, the quorum, and, once that has caught up, the logs.
    meta: Meta
    quorum: Quorum
    cluster: Cluster
    lineage: Lineage
    replicas: Replicas
    losses: Losses

    signing_keys: SigningKeys = NoKeys()
    """The shell brings others."""

    make_check: Callable[..., Any] | None = None
    """What reads payloads by schemas (`records.schema_ids.MakeCheck`), where the world brings it."""

    def __init__(
        self,
        settings: BrokerSettings,
        files: Files,
        entropy: Entropy,
        apis: Mapping[int, Api[Node]],
        life: Life,
        tell: Tell = lambda fact: None,
        network: Network | None = None,
    ) -> None:
        self.settings = self._static_settings = settings
        self.files = files
        self.tasks = Tasks(files)
        self.tasks.later = self._a_moment_later
        self.entropy = entropy
        self.apis = apis
        self._life = life
        self._broker_apis = {key: api for key, api in apis.items() if APIS[key].on_brokers}
        self._controller_apis = {key: api for key, api in apis.items() if APIS[key].on_controllers}
        self.limits = Limits.of(settings)
        self.metrics = Metrics()
        self.deadlines = Deadlines()
        self.event_log = EventLog(self.deadlines, tell)
        self.state = "starting"
        self.failure: str | None = None
        self.has_quorum = False
        """Whether the metadata log is open, and others may ask about it."""
        self.has_opened = False
        """Whether everything that is on the disk is open, so that it must be closed in order."""
        self.disk_full = False
        self.now_ms = self.now_us = 0
        self.node_id: int = settings["node.id"]
        self.is_broker = settings.is_broker
        self.replication = Replication(self)
        self.links = links_of(self, network)
        self.image = Image()
        self.advertised = settings.listeners.advertised
        self.host_name: str | None = settings["penstock.host"]
        self.boot_id: str | None = None
        self.runtime_note: RuntimeNote = NoNote()
        self.controller_listeners = frozenset(name.upper() for name in settings["controller.listener.names"])
        self.connections: dict[Connection, None] = {}
        self.dirty: list[Connection] = []
        self.admission = Admission(self)
        self.later_turns: LaterTurns = LaterTurns(self)
        self.gates = gates_of(self)
        self.dispatcher: Dispatcher[Node] = Dispatcher(self)
        self.staging = Staging(self)
        self.frame_memory: FrameMemory = FrameMemory(self)
        self.fetching, self.sharing = readers_of(self)
        self.coordinators = Coordinators(self)
        self.producer_ids = ProducerIds(self)
        self.housekeeping = Housekeeping(self)
        self.scrub = Scrub(self)
        self.topic_lookup = ImageTopics(self)
        self._publishing: deque[tuple[Image, Delta, OnCommitted]] = deque()

    # What the world calls

    def begin(self, now_ms: int, now_us: int | None = None) -> None:
        """Start a turn: this is its one `now`, by the wall clock and by one that only runs forward."""
        if now_us is None:
            now_us = now_ms * 1000
        step_ms = now_ms - self.now_ms - (now_us - self.now_us) // 1000
        if step_ms > CLOCK_STEP_MS or step_ms < -CLOCK_STEP_MS:
            # Somebody has set the clock: whoever waits for some time waits that time, not until some hour.
            self.deadlines.shift(step_ms)
        self.now_ms = self.deadlines.now_ms = now_ms
        self.now_us = now_us

    def start(self) -> None:
        """Open the storage; the node is running, or has failed, some turns later."""
        self.tasks.run(self._life.start(self), self.started)

    def stop(self) -> None:
        """Close everything; the node has stopped some turns later. One that has not opened all of it yet just ends."""
        if self.state == "running" or (self.state == "starting" and self.has_opened):
            self.cluster.leave(self._close)
        else:
            self.state = "stopped"

    def connect(
        self, host: str, port: int, listener: str = "PLAINTEXT", certified: str | None = None
    ) -> Connection | None:
        """Take a connection, or refuse it (None) where a limit is reached. Voters need each other to start. `certified`
        is the name in its certificate, if it has shown one."""
        is_early = self.state == "starting" and listener in self.controller_listeners
        is_open = self.state == "running" or (is_early and self.has_quorum and self.quorum.has_begun)
        if not (is_open and self._has_listener(listener) and self.admission.admits(host, listener, self.connections)):
            self.metrics.connections_refused += 1
            return None
        connection = Connection(self, host, port, listener, certified)
        self.connections[connection] = None
        self.metrics.connections_opened[listener] += 1
        return connection

    def apis_on(self, listener: str) -> Mapping[int, Api[Node]]:
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
        self.dispatcher.turn_ends((now_us or self.now_us) - self.now_us)
        ready, self.dirty = self.dirty, []
        for connection in ready:
            connection.dirty = False
        return ready

    @property
    def is_unfinished(self) -> bool:
        """Whether `finish` has more to give: sending may have let a connection go on that had been held back."""
        return bool(self.dirty or self.fetching.woken)

    # What connections call

    def answered(self, slot: Slot) -> None:
        self.dispatcher.answered(slot)

    def cancelled(self, slot: Slot) -> None:
        """The connection of a parked request closed."""
        self.fetching.cancel(slot)
        self.sharing.cancel(slot)
        self.coordinators.cancel(slot)

    def disconnected(self, connection: Connection) -> None:
        self.connections.pop(connection, None)
        self.sharing.disconnected(connection)
        self.cluster.controller.lost(connection)

    # What handlers call

    def submit(self, records: Sequence[StoredRecord], done: OnCommitted) -> None:
        """Put records into the metadata log; `done` comes once they are committed and this node has acted on them."""
        self.quorum.submit(records, self.now_ms, done)

    def publish(self, image: Image, delta: Delta, done: OnCommitted) -> None:
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
                self.log(
                    "error", "node", f"settings changed while running are not in force: {'; '.join(error.problems)}"
                )
                return
            self.limits = Limits.of(self.settings)

    @property
    def audits(self) -> bool:
        """Whether what people change, and what is refused to them, is kept."""
        return self.cluster.audit_trail.is_on

    def audit(self, event: Mapping[str, Any]) -> None:
        self.cluster.audit_trail.note(event)

    def audit_refusal(self, event: Mapping[str, Any]) -> None:
        self.cluster.audit_trail.refused(event)

    def log(self, level: str, component: str, text: str, kind: str = "") -> None:
        """A fact for whoever runs this node. Those of one `kind` are one fact, whatever their texts."""
        self.event_log.say(Fact(level, component, text), kind)

    @property
    def knows_rules(self) -> bool:
        return self.has_opened

    def hands_on(self, slot: Slot) -> bool:
        """Whether a request that brokers forward is decided elsewhere: by the controller, or by the leader of the
        quorum, who need not control the cluster yet. From the listeners of controllers nothing is handed on."""
        if slot.context.listener in self.controller_listeners:
            return False
        return not (self.quorum.leads if slot.api.runs is Runs.QUORUM else self.cluster.controller.is_active)

    @property
    def log_levels(self) -> Mapping[str, str]:
        return self.event_log.levels

    def set_log_level(self, name: str, level: str | None) -> None:
        self.event_log.set_level(name, level)

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
        self.log("error", "node", reason)
        self.event_log.flush()

    def started(self, outcome: object) -> None:
        """A part of the start has ended."""
        if isinstance(outcome, Exception):
            self.fail(self._life.explain(outcome, self.settings.log_dir))

    # Inside

    def _a_moment_later(self, act: Callable[[], None]) -> None:
        self.deadlines.at(self.now_ms + MEANS_RETRY_MS, act)

    def _close(self) -> None:
        self.state = "stopping"
        self.tasks.run(self._life.stop(self), self._stopped)

    def _stopped(self, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self.fail(f"not everything could be written when stopping: {outcome}")
        else:
            self.state = "stopped"
        self.event_log.flush()

    def _has_listener(self, listener: str) -> bool:
        """Whether a listener belongs to what this node is."""
        return self.settings.is_controller if listener in self.controller_listeners else self.is_broker

    def run_steps(self, slot: Slot, steps: Steps[Message]) -> None:
        """Let a handler go on by itself; its slot waits for what it returns."""
        self.later_turns.run_steps(slot, steps)

    def handler_failed(self, slot: Slot, error: Exception) -> None:
        """A handler that breaks half-way cannot answer; closing tells the client to ask again."""
        self.log("error", "node", f"{slot.api.name} failed: {error!r}")
        slot.connection.close()

    def _apply_next(self) -> None:
        image, delta, _ = self._publishing[0]
        self.cluster.image_changes(self.image, image, delta)
        self.take(image)
        if any(key.startswith(f"{BROKER_RESOURCE}/") for key in delta.configs):
            self.reconfigure()
            self.replicas.settings = self.settings
        self.tasks.run(self.replicas.apply(image, delta, self.now_ms), self._applied)

    def take(self, image: Image) -> None:
        """This image is what clients see from now on. Their quotas are measured only where there are any."""
        before, self.image = self.image, image
        quotas = image.access.quotas
        if quotas is before.access.quotas:
            return
        self.admission.rate.update(quotas)
        self.gates = holding_to(quotas, self.gates, self)

    def _applied(self, outcome: object) -> None:
        _, delta, done = self._publishing.popleft()
        if isinstance(outcome, Exception):
            if not (self.disk_full and found_no_room(outcome)):  # That is said elsewhere, once.
                self.log("error", "node", f"acting on a metadata change failed and will be tried again: {outcome}")
            self.deadlines.at(self.now_ms + APPLY_RETRY_MS, lambda: self.publish(self.image, delta, lambda code: None))
        self.coordinators.apply(delta)
        self.replicas.on_applied()
        self.cluster.image_changed()
        # It is decided, whether this node can act on it yet or not.
        done(ErrorCode.NONE)
        if self._publishing:
            self._apply_next()
