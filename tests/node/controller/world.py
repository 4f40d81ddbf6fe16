"""Controllers and brokers joined by pipes that carry values, in virtual time. Nothing here has bytes, disks or votes.

The metadata log is one list: the world says who leads it and when an append is committed. What a leader appended that
was not committed when it lost the lead never happened. A leader may be late to learn that it has lost the lead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple

from penstock.core.apis.table import load_apis
from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import LATER, Done, FileOp, Pause
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.steps import Tasks
from penstock.core.metadata.features import SUPPORTED_FEATURES
from penstock.core.metadata.fold import fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.image import TOPIC_RESOURCE, Image, PartitionImage
from penstock.core.metadata.topics import plan_topic
from penstock.core.node.controller.controller import Controller
from penstock.core.node.controller.ports import ControllerContext, OnCommitted
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.links.link import Address
from penstock.core.node.membership.broker_lifecycle import BrokerLifecycle, Profile
from penstock.core.node.membership.channel import ControllerChannel
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest
from penstock.core.wire.schema import Request, Response, StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord
from tests.metadata.cluster import CLUSTER_ID, FILE, directory_of, topic_id, wanted_topic

INTERVAL_MS, SESSION_MS = 150, 1_500
COMMIT_MS = 2
VOTERS = 3
EVENTS_MAX = 200_000


class Batch(NamedTuple):
    image: Image
    records: Sequence[StoredRecord]
    done: OnCommitted


class ToyLedger:
    """A machine's view of the metadata log."""

    def __init__(self, world: World, node: Machine) -> None:
        self._world = world
        self._node = node
        self._pending: deque[Batch] = deque()
        self.uncommitted_image = world.committed
        self.leads = False

    @property
    def is_settled(self) -> bool:
        return not self._pending

    def submit(self, records: Sequence[StoredRecord], now_ms: int, done: OnCommitted) -> None:
        if not self.leads:
            done(ErrorCode.NOT_CONTROLLER)
            return
        taken = [decode_record(encode_record(record)) for record in records]
        self.uncommitted_image, _ = fold(self.uncommitted_image, taken, self.uncommitted_image.offset + len(taken))
        batch = Batch(self.uncommitted_image, taken, done)
        self._pending.append(batch)
        self._world.later(self._node, COMMIT_MS, lambda: self._commit(batch))

    def when_settled(self, done: OnCommitted) -> None:
        last = self._pending.pop()

        def both(code: ErrorCode) -> None:
            last.done(code)
            done(code)

        self._pending.append(last._replace(done=both))

    def _commit(self, batch: Batch) -> None:
        if self._world.leader != self._node.id:
            return  # Nobody follows: it waits for the leader to notice.
        if not any(each.image is batch.image for each in self._pending):
            return  # It was lost with the lead, or came with a later one.
        while self._pending and self._pending[0].image.offset <= batch.image.offset:
            image, records, done = self._pending.popleft()
            self._world.publish(image, records)
            done(ErrorCode.NONE)

    def reset(self) -> None:
        """The lead is lost: what was not committed never happened."""
        lost, self._pending = list(self._pending), deque()
        self.leads = False
        self.uncommitted_image = self._world.committed
        for batch in lost:
            batch.done(ErrorCode.NOT_CONTROLLER)


class _Pauses:
    """Files of a machine that has none: all it can be asked is to let others run."""

    def __init__(self, world: World, node: Machine) -> None:
        self._world = world
        self._node = node

    def perform(self, op: FileOp, done: Done) -> object:
        assert isinstance(op, Pause)
        self._world.later(self._node, 0, lambda: done(None))
        return LATER


class Machine:
    """One process: a controller, perhaps a broker, and the pipes to others."""

    def __init__(self, world: World, node_id: int, incarnation: int, *, is_broker: bool = True) -> None:
        self.world = world
        self.id = node_id
        self.settings = world.settings
        self.deadlines = Deadlines()
        self.disk_full = False
        self.tasks = Tasks(_Pauses(world, self))  # type: ignore[arg-type]  # only pauses are asked of it
        self.notes: list[str] = []
        self.is_dead = False
        self.leader = self.epoch = 0
        self.paused_until_ms = 0
        self.image = Image()
        self.ledger = ToyLedger(world, self)
        self.probed: list[tuple[str, int]] = []
        around = ControllerContext(
            node_id,
            CLUSTER_ID,
            voters=lambda: range(1, VOTERS + 1),
            led_ms=lambda: world.led_ms(node_id),
            predecessor=lambda: world.predecessor,
            probe=lambda *at: world.probe(self, *at),
        )
        self.controller = Controller(self, self.ledger, around, load_apis())
        self.channel = ControllerChannel(self, self, self.controller, self._leader_address)
        self.broker_lifecycle = BrokerLifecycle(self, self.channel.ask, lambda: self.image.offset)
        self.broker_lifecycle.own_lease_end_ms = self._own_lease_end_ms
        self.profile = self._profile(incarnation)
        self.is_broker = is_broker

    def _profile(self, incarnation: int) -> Profile:
        points = (Endpoint("PLAINTEXT", f"node{self.id}", 9092),)
        identity = incarnation.to_bytes(16, "big")
        return Profile(
            self.id, CLUSTER_ID, identity, points, SUPPORTED_FEATURES, (directory_of(self.id),), host=f"host{self.id}"
        )

    def _own_lease_end_ms(self) -> int | None:
        if not self.controller.is_active:
            return None
        return self.world.led_ms(self.id) + self.broker_lifecycle.pace.lease_ms

    @property
    def now_ms(self) -> int:
        return self.world.now_ms

    @property
    def now_us(self) -> int:
        return self.world.now_ms * 1000

    def learn(self, leader: int, epoch: int) -> None:
        """Hear who leads the log."""
        if self.is_dead or epoch <= self.epoch:
            return
        self.epoch, self.leader = epoch, leader
        self.ledger.reset()
        self.controller.follow()
        if leader == self.id:
            self.ledger.leads = True
            self.controller.lead()
        self.broker_lifecycle.controller_changed()
        self.channel.controller_changed()

    def _leader_address(self) -> Address | None:
        return Address(f"node{self.leader}", 9092) if self.leader else None

    def log(self, level: str, component: str, text: str, kind: str = "") -> None:
        self.notes.append(text)

    def ask(
        self, to: Address, purpose: str, request: Request, timeout_ms: int, done: Callable[[Response | None], None]
    ) -> None:
        """The links of this machine."""
        self.world.carry(self, to, request, timeout_ms, done)

    def close(self, to: Address, purpose: str) -> None:
        """Pipes here have no ends: what is under way arrives all the same."""

    def receive(self, sender: Machine, request: Request, reply: Callable[[Response], None]) -> None:
        def answered(response: Response) -> None:
            is_broker = isinstance(request, BrokerHeartbeatRequest | BrokerRegistrationRequest)
            if is_broker and not getattr(response, "error_code", 0) and not sender.is_dead:
                self.controller.met(sender.id, sender)
            reply(response)

        self.controller.handle(request, request.VERSIONS[-1], answered)


class World:
    """Time, pipes and the log."""

    def __init__(self, seed: int = 0, **settings: str) -> None:
        self.random = Random(seed)
        self.settings = BrokerSettings({**FILE, **settings})
        self.now_ms = 0
        self.committed = Image()
        self.log: list[StoredRecord] = []
        self.leader = 0
        self._epoch = 0
        self._superseded_ms = 0
        self.predecessor: int | None = None
        self.machines: dict[int, Machine] = {}
        self.cut: set[tuple[int, int]] = set()
        self.delay_ms: Callable[[], int] = lambda: 1
        self.is_lost: Callable[[], bool] = lambda: False
        self.on_commit: Callable[[Sequence[StoredRecord]], None] = lambda records: None
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._incarnations = 0

    # Machines

    def start(self, *ids: int, is_broker: bool = True, previous_epoch: int = -1) -> None:
        for node_id in ids:
            self._incarnations += 1
            machine = Machine(self, node_id, self._incarnations, is_broker=is_broker)
            self.machines[node_id] = machine
            if self.leader:
                machine.image = self.committed
                machine.learn(self.leader, self._epoch)
            if is_broker:
                machine.broker_lifecycle.ready()
                machine.broker_lifecycle.start(machine.profile, previous_epoch)

    def elect(self, node_id: int, late_ms: int = 0, beside: Sequence[int] = ()) -> None:
        """Another machine leads the log; the last one, and those that hear only that one, learn of it `late_ms`
        later."""
        old, self.leader = self.leader, node_id
        self.predecessor = old or None
        self._epoch += 1
        self._superseded_ms = self.now_ms
        for machine in list(self.machines.values()):
            is_late = machine.id in (old, *beside) and machine.id != node_id
            if not late_ms or not is_late:
                machine.learn(node_id, self._epoch)
            else:
                self.after(late_ms, partial(machine.learn, node_id, self._epoch))

    def led_ms(self, node_id: int) -> int:
        return self.now_ms if node_id == self.leader else self._superseded_ms

    def kill(self, node_id: int) -> None:
        """The process is gone: its connections close, and nobody listens."""
        machine = self.machines.pop(node_id)
        machine.is_dead = True
        machine.controller.follow()
        for other in self.machines.values():
            other.controller.lost(machine)

    def pause(self, node_id: int, duration_ms: int) -> None:
        self.machines[node_id].paused_until_ms = self.now_ms + duration_ms

    # Pipes

    def carry(
        self,
        sender: Machine,
        to: Address,
        request: Request,
        timeout_ms: int,
        done: Callable[[Response | None], None],
    ) -> None:
        answered: list[bool] = []

        def finish(response: Response | None) -> None:
            if not answered and not sender.is_dead:
                answered.append(True)
                self.when_awake(sender, lambda: done(response))

        def arrive() -> None:
            receiver = self.machines.get(int(to.host.removeprefix("node")))
            if receiver is None:
                self.after(self.delay_ms(), lambda: finish(None))
            elif self._passes(sender.id, receiver.id):
                back = partial(self._answer, receiver, sender, finish)
                self.when_awake(receiver, lambda: receiver.receive(sender, request, back))

        self.after(timeout_ms, lambda: finish(None))
        self.after(self.delay_ms(), arrive)

    def _answer(
        self, receiver: Machine, sender: Machine, finish: Callable[[Response | None], None], response: Response
    ) -> None:
        if self._passes(receiver.id, sender.id) and not receiver.is_dead:
            self.after(self.delay_ms(), lambda: finish(response))

    def _passes(self, source: int, target: int) -> bool:
        return (source, target) not in self.cut and not self.is_lost()

    def isolate(self, *ids: int) -> None:
        """Nothing passes between these and the others."""
        others = set(self.machines) - set(ids)
        self.cut = {pair for one in ids for other in others for pair in ((one, other), (other, one))}

    def probe(self, prober: Machine, host: str, port: int) -> None:
        prober.probed.append((host, port))
        target = int(host.removeprefix("node"))
        if target not in self.machines and (prober.id, target) not in self.cut:
            self.after(self.delay_ms(), lambda: None if prober.is_dead else prober.controller.refused(host, port))

    # The log

    def publish(self, image: Image, records: Sequence[StoredRecord]) -> None:
        self.committed = image
        self.log += records
        self.on_commit(records)
        for machine in list(self.machines.values()):
            self.later(machine, self.delay_ms(), partial(self._fold, machine, image))

    def _fold(self, machine: Machine, image: Image) -> None:
        if image.offset > machine.image.offset and not machine.is_dead:
            machine.image = image
            machine.broker_lifecycle.brokers = len(image.brokers)

    def create(self, name: str, *assignments: Sequence[int], **configs: str) -> None:
        """A topic with given replicas, by way of the leader's log."""
        wanted = wanted_topic(name, assignments, configs)
        ledger = self.machines[self.leader].ledger
        planned = plan_topic(ledger.uncommitted_image, self.settings, wanted, lambda: topic_id(name))
        ledger.submit(list(planned.records()), self.now_ms, lambda code: None)
        self.run(20)

    def configure(self, name: str, **configs: str) -> None:
        records = [
            ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        self.machines[self.leader].ledger.submit(records, self.now_ms, lambda code: None)

    def partition(self, name: str = "t", index: int = 0) -> PartitionImage:
        topic = self.committed.topic(name)
        assert topic is not None
        return topic.partition(index)

    def fenced(self) -> list[int]:
        return sorted(broker.id for broker in self.committed.brokers.values() if broker.fenced)

    def ask(self, request: Request, version: int | None = None, node_id: int = 0) -> Any:
        """Ask the leader's controller, and wait for the answer."""
        answers: list[Response] = []
        target = self.machines[node_id or self.leader]
        target.controller.handle(request, request.VERSIONS[-1] if version is None else version, answers.append)
        self.run_until(lambda: bool(answers), 10_000)
        return answers[0]

    # Time

    def after(self, delay_ms: int, call: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._events, (self.now_ms + delay_ms, self._order, call))

    def later(self, machine: Machine, delay_ms: int, call: Callable[[], None]) -> None:
        """Something that happens to a machine, if it lives, when it is awake."""
        self.after(delay_ms, lambda: self.when_awake(machine, call))

    def when_awake(self, machine: Machine, call: Callable[[], None]) -> None:
        """A machine that is paused hears of things when it goes on."""
        if machine.is_dead:
            return
        if machine.paused_until_ms > self.now_ms:
            self.after(machine.paused_until_ms - self.now_ms, lambda: self.when_awake(machine, call))
        else:
            call()

    def run(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        for _ in range(EVENTS_MAX):
            if not self._step(end_ms):
                self.now_ms = end_ms
                return
        raise AssertionError("there is no end to it")

    def run_until(self, condition: Callable[[], bool], duration_ms: int) -> int:
        """Run until something is so; gives how long that took."""
        begin_ms = self.now_ms
        while not condition():
            assert self._step(begin_ms + duration_ms), "it did not come to pass in time"
        return self.now_ms - begin_ms

    def _step(self, end_ms: int) -> bool:
        """The next thing that happens, if it does so in time."""
        due = min(
            (
                (max(at_ms, machine.paused_until_ms), machine.id)
                for machine in self.machines.values()
                if (at_ms := machine.deadlines.next_ms()) is not None
            ),
            default=None,
        )
        event = self._events[0] if self._events else None
        # Timers come first: a process that was paused learns of the time before it learns what was said.
        if due is not None and (event is None or due[0] <= event[0]):
            if due[0] > end_ms:
                return False
            self.now_ms = max(self.now_ms, due[0])
            self.machines[due[1]].deadlines.run_due(self.now_ms)
            return True
        if event is None or event[0] > end_ms:
            return False
        heappop(self._events)
        self.now_ms = max(self.now_ms, event[0])
        event[2]()
        return True


def cluster(*ids: int, controller: int = 1, seed: int = 0, **settings: str) -> World:
    """Brokers that serve, the first of which controls."""
    world = World(seed, **settings)
    world.start(*ids)
    world.elect(controller)
    world.run_until(lambda: len(world.committed.brokers) == len(ids) and not world.fenced(), 10_000)
    return world
