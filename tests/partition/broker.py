"""A machine of the test world: a disk, real logs on it, and its replicas in the roles that its newest image gives them.

Followers are served by the node's own `Fetching`, sessions and waiting included, to which this class is the node.
"""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import MakeDir, Slice, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.base.steps import Tasks
from penstock.core.log.directory import LogDirectory
from penstock.core.log.index_file import IndexCache
from penstock.core.log.log import Log
from penstock.core.log.settings import LogContext
from penstock.core.metadata.image import RECOVERING, Image, PartitionImage
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.fetching.fetching import Fetching
from penstock.core.node.replication.throttling import Throttling
from penstock.core.node.serving.api import Pending
from penstock.core.node.serving.slots import Part
from penstock.core.node.storage.lineage import Lineage
from penstock.core.partition.fetcher import VERSION, Fetcher, Fetchers, FetchSettings
from penstock.core.partition.follower import Follower
from penstock.core.partition.in_sync import Assignment, Proposal
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import LeaderContext, ReplicatedLeader
from penstock.core.partition.roles import Replica, role_of
from penstock.core.partition.throttle import Throttle
from penstock.core.records.batch import iterate_headers
from penstock.core.records.record import iterate
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from penstock.core.wire.api.fetch import FetchRequest, FetchResponse
from penstock.core.wire.frames import FRAME_SIZE_BYTES, parse_response_header
from penstock.sim.runtime import Memory
from tests.log.memory_files import Disk, MemoryFiles, drive
from tests.partition.controller import SESSION_MS
from tests.partition.court import Entry, Key
from tests.partition.fetch_host import FetchHost
from tests.partition.network import Reply

if TYPE_CHECKING:
    from tests.partition.world import World

ROOT = "/data"
TICK_MS = 20
HEARTBEAT_MS = 25
LAG_MS_MAX = 100
ASK_MS = 120
FETCH = FetchSettings(wait_ms_max=60, busy_wait_ms_max=3, retry_ms=10, backoff_ms=40, partition_bytes_max=600)
UNCLEAN = -1


class FetchSlot:
    """Where the answer to a fetch goes."""

    version = VERSION
    correlation_id = 0
    context = SimpleNamespace(listener="PLAINTEXT")

    def __init__(self, broker: Broker, reply: Reply) -> None:
        self._broker = broker
        self._reply = reply
        self.parked: object = None

    def reply(self, response: FetchResponse) -> None:
        self._broker.answer_fetch(response, self._reply)

    def reply_parts(self, parts: list[Part], size: int) -> None:
        """An answer that is encoded already."""
        frame = b"".join(self._broker.content(part) if isinstance(part, Slice) else part for part in parts)
        assert len(frame) == size, "its size was told wrong"
        _, position = parse_response_header(frame[FRAME_SIZE_BYTES:], FetchResponse.KEY, VERSION)
        self._reply(FetchResponse.decode(frame, VERSION, FRAME_SIZE_BYTES + position))


class Broker(FetchHost):
    """The fields under "the disk" survive its process."""

    def __init__(self, world: World, broker_id: int) -> None:
        self.world = world
        self.id = broker_id
        self.life = 0
        self.is_alive = False
        self.paused_until_ms = 0
        self.dice = world.chance.fork(f"broker-{broker_id}")
        # The disk, and what a clean stop leaves on it; and how often its machine was without power.
        self.disk = Disk()
        self.blackouts = 0
        self.memory = Memory()

    # Living and dying

    def start(self) -> None:
        world = self.world
        self.is_alive = True
        delay = Random(f"{world.chance.name} {self.id} {self.life}") if world.shape.slow_disks else None
        self.files = MemoryFiles(self.disk, delay)
        self.tasks = Tasks(self.files)
        self.epoch = UNCLEAN
        self.image: Image = world.controller.image
        self.lineage = Lineage(ROOT, f"boot {self.blackouts}", self.dice.bytes(16), self.memory)
        context = LogContext(self.files, self.tasks, IndexCache(), before_loss=self.lineage.cut)
        self.directory = LogDirectory(ROOT, context)
        drive(self.files, self._open())
        self.partitions: dict[Key, Partition] = {}
        self.seen: dict[Partition, int] = {}
        self.lease_end_ms = 0
        self.around = LeaderContext(self.id, UNCLEAN, self, lambda: self.now_ms, self.holds_lease, LAG_MS_MAX)
        self.fetchers = Fetchers(self._make_fetcher)
        self.deadlines = Deadlines()
        self.entropy = self.dice
        self.replication = SimpleNamespace(
            throttling=Throttling(self.id), clock=lambda: self.now_ms, heard_from=self._heard_from
        )
        self.silence = self.new_silence()
        self.replicas = self
        self.fetching = Fetching(self)  # type: ignore[arg-type]  # all that it asks of a node is here
        self._timer_ms: int | None = None
        self._disk_busy = False
        self._ticked_ms = world.now_ms
        self._register()
        world.later(self, TICK_MS, self._tick)
        world.later(self, HEARTBEAT_MS, self._beat)

    def _open(self) -> Steps[None]:
        """As a node does that finds logs."""
        yield MakeDir(ROOT)
        yield from self.directory.read_clean_mark()
        yield from self.lineage.begin(self.image.brokers.get(self.id), self.directory.broker_epoch)
        went_on = self.lineage.previous_epoch != UNCLEAN
        yield from self.directory.load(self._settings, self.world.now_ms, went_on=went_on)
        assert not self.directory.offline, "nothing was damaged but by crashes"

    def stop(self, *, power_lost: bool) -> None:
        """What is under way is done or lost; of one file all is lost from some operation on."""
        self.is_alive = False
        self.life += 1
        lost: list[object] = []
        while self.files.pending and self.dice.happens(0.7):
            file, op, _ = self.files.pending.pop(0)
            if self.dice.happens(0.3) or any(file is each for each in lost):
                lost.append(file)
            else:
                self.files._do(op)
        self.files.pending.clear()
        if power_lost:
            self.blackouts += 1
            self.memory.remove()
            self.disk.lose_power(Random(self.dice.bytes(8)))

    def close(self) -> None:
        """A clean stop: everything is synced, and a mark says with which epoch."""
        marks = self._high_watermarks()
        for partition in self.partitions.values():
            partition.remove(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        # One that was never let in vouches for the one before it.
        epoch = self.lineage.previous_epoch if self.epoch == UNCLEAN else self.epoch
        drive(self.files, self.directory.close(lambda: marks, epoch))
        self.is_alive = False
        self.life += 1

    def _settings(self, topic: str) -> TopicSettings:
        return self.world.settings[topic]

    def _make_fetcher(self) -> Fetcher:
        return Fetcher(self.id, lambda: self.epoch, FETCH, Throttle())

    # What `Fetching` asks of a node

    @property
    def now_ms(self) -> int:
        return self.world.now_ms

    def get(self, topic: str, index: int) -> Partition | None:
        return self.partitions.get((topic, index))

    def refusal(self, image: Image, topic: str, index: int) -> ErrorCode:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def error(self, api: str, code: ErrorCode) -> ErrorCode:
        self.world.counts[f"fetch {code.name}"] += 1
        return code

    def run_steps(self, slot: FetchSlot, steps: Steps[FetchResponse]) -> None:
        self.tasks.run(steps, lambda result: self._done(slot, result))

    def _done(self, slot: FetchSlot, result: FetchResponse | Exception) -> None:
        if isinstance(result, Exception):
            raise result
        slot.reply(result)

    # What leaders ask of an image

    def live_epoch(self, broker_id: int) -> int | None:
        broker = self.image.brokers.get(broker_id)
        return broker.epoch if broker is not None and broker.is_active else None

    def rack_of(self, broker_id: int) -> str | None:
        return None

    # The controller

    def _register(self) -> None:
        controller, lineage = self.world.controller, self.lineage
        self.world.network.ask_controller(
            self,
            lambda: controller.register(self.id, lineage.incarnation, lineage.previous_epoch),
            self._registered,
            ASK_MS,
        )

    def _registered(self, epoch: int | None) -> None:
        if epoch is None:
            self._register()
            return
        self.epoch = self.around.broker_epoch = epoch
        self.learn(self.world.controller.image)

    def _beat(self) -> None:
        asked_ms, controller = self.now_ms, self.world.controller
        if self.epoch != UNCLEAN:
            self.world.network.ask_controller(
                self,
                lambda: controller.heartbeat(self.id, self.epoch, self.image.offset),
                lambda serves: self._heard(serves, asked_ms),
                ASK_MS,
            )
        self.world.later(self, HEARTBEAT_MS, self._beat)

    def holds_lease(self) -> bool:
        return self.now_ms < self.lease_end_ms

    def _heard(self, serves: bool | None, asked_ms: int) -> None:
        """A fenced broker has no lease: others lead what it led, and it may not have heard of them yet."""
        if serves:
            self.lease_end_ms = asked_ms + SESSION_MS

    def learn(self, image: Image) -> None:
        """Act on an image, but not before it knows this process: an older one speaks of the one before."""
        if image.offset < self.image.offset or self.epoch == UNCLEAN:
            return
        known = image.brokers[self.id].epoch
        if known != self.epoch:
            return
        if any(isinstance(each, Follower) and each.is_cutting for each in self.partitions.values()):
            self.world.later(self, 2, lambda: self.learn(image))
            return
        self.image = image
        for key in self.world.keys:
            topic = image.topic(key[0])
            assert topic is not None
            if self.id in topic.replicas[key[1]]:
                self._play(key, topic.id, topic.partition(key[1]))

    def _play(self, key: Key, topic_id: bytes, known: PartitionImage) -> None:
        settings = self._settings(key[0])
        log = self.directory.logs.get(key)
        if log is None:
            log = drive(MemoryFiles(self.disk), self.directory.create(*_made(key, topic_id), settings, self.now_ms))
        current = self.partitions.get(key)
        stored = self.directory.high_watermarks.get(key, 0)
        replica, before = Replica(*key, topic_id, log), None if current is None else current.leader_epoch
        role = role_of(replica, settings, _assignment(known), current, self.around, stored)
        if role is not current:
            self._replace(key, current, role)
        elif role.leads and role.leader_epoch != before:
            self.world.leads(self, key, role)

    def _replace(self, key: Key, current: Partition | None, role: Partition) -> None:
        self.partitions[key] = role
        self.fetchers.forget((role.topic_id, role.index))
        if current is not None:
            current.remove(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if isinstance(role, Follower) and role.leader >= 0:
            self.fetchers.follow(role).on_change = lambda: None
        if role.leads:
            self.world.leads(self, key, role)

    # Fetches

    def fetch(self, request: FetchRequest, reply: Reply) -> None:
        slot: Any = FetchSlot(self, reply)
        answer = self.fetching.fetch(request, slot)
        if isinstance(answer, FetchResponse):
            slot.reply(answer)
        elif not isinstance(answer, Pending):
            self.run_steps(slot, answer)  # type: ignore[arg-type]  # a fetch's steps give its response

    def answer_fetch(self, response: FetchResponse, reply: Reply) -> None:
        """Slices become bytes as the shell sends them."""
        for topic in response.responses:
            for data in topic.partitions:
                if isinstance(data.records, Slice):
                    data.records = self.content(data.records)
        reply(self.world.through_wire(response, VERSION))

    def content(self, piece: Slice) -> bytes:
        inode = self.disk.names.get(piece.file.path)
        return b"" if inode is None else bytes(inode.live[piece.position : piece.position + piece.length])

    # Turns

    def perform(self) -> None:
        """What follows every event: answers, fetches, questions to the controller, time."""
        self.deadlines.run_due(self.now_ms)
        self.fetching.settle()
        for leader, fetcher in self.fetchers.by_leader.items():
            self._pump(leader, fetcher)
        self._ask_controller()
        self._drive_disk()
        self._set_timer()
        self.world.look_at(self)

    def _pump(self, leader: int, fetcher: Fetcher) -> None:
        request = fetcher.next(self.now_ms)
        if request is not None:
            to = self.world.brokers[leader]
            asked = cast(FetchRequest, self.world.through_wire(request, VERSION))
            self.world.network.ask(
                self,
                to,
                lambda reply: to.fetch(asked, reply),
                lambda answer: fetcher.answered(answer, self.now_ms),
                ASK_MS,
            )

    def _ask_controller(self) -> None:
        proposals, self.around.proposals = self.around.proposals, {}
        for leader, proposal in proposals.items():
            self._ask_alteration(leader, proposal)

    def _ask_alteration(self, leader: ReplicatedLeader, proposal: Proposal) -> None:
        members = [BrokerState(broker_id=each.id, broker_epoch=each.broker_epoch) for each in proposal.members]
        data = RequestPartitionData(
            partition_index=leader.index,
            leader_epoch=proposal.leader_epoch,
            partition_epoch=proposal.partition_epoch,
            new_isr_with_epochs=members,
        )
        topics = [RequestTopicData(topic_id=leader.topic_id, partitions=[data])]
        request = AlterPartitionRequest(broker_id=self.id, broker_epoch=self.epoch, topics=topics)

        def answered(answer: AlterPartitionResponse | ErrorCode | None) -> None:
            code, assignment = ErrorCode.NETWORK_EXCEPTION, None
            if isinstance(answer, AlterPartitionResponse):
                found = answer.topics[0].partitions[0]
                code = ErrorCode(found.error_code)
                assignment = _answered(found, leader.replicas) if code is ErrorCode.NONE else None
            leader.answered(proposal, code, assignment)

        self.world.network.ask_controller(self, lambda: self.world.controller.alter(request), answered, ASK_MS)

    def _drive_disk(self) -> None:
        if self.files.pending and not self._disk_busy:
            self._disk_busy = True
            self.world.later(self, self.dice.skewed(0, 8), self._disk_works)

    def _disk_works(self) -> None:
        self._disk_busy = False
        for _ in range(self.dice.between(1, 12)):
            self.files.finish_one()

    def _set_timer(self) -> None:
        times = [fetcher.due_ms for fetcher in self.fetchers.by_leader.values()] + [self.deadlines.next_ms()]
        due_ms = min((time for time in times if time is not None), default=None)
        if due_ms is not None and (self._timer_ms is None or due_ms < self._timer_ms):
            self._timer_ms = due_ms
            self.world.later(self, max(0, due_ms - self.now_ms), self._timer)

    def _timer(self) -> None:
        self._timer_ms = None

    def _tick(self) -> None:
        late_ms = max(0, self.now_ms - self._ticked_ms - TICK_MS)
        self._ticked_ms = self.now_ms
        for partition in self.partitions.values():
            if isinstance(partition, ReplicatedLeader):
                partition.tick(late_ms)
        self._listen(late_ms)
        if self.dice.happens(0.1):
            self.tasks.run(self.directory.checkpoint_ends(self._high_watermarks))
        if self.dice.happens(0.1):
            self._flush_one()
        self.world.later(self, TICK_MS, self._tick)

    def _high_watermarks(self) -> dict[tuple[str, int], int]:
        return {key: partition.high_watermark for key, partition in self.partitions.items()}

    def _heard_from(self, broker_id: int) -> None:
        self.silence.heard(broker_id, self.now_ms)
        self.around.silent -= {broker_id}

    def _listen(self, late_ms: int) -> None:
        self.silence.forgive(late_ms)
        self.around.silent = self.silence.silent(self.now_ms)
        for partition in self.partitions.values():
            if isinstance(partition, ReplicatedLeader):
                partition.part_from(self.around.silent)

    def _flush_one(self) -> None:
        logs: list[Log] = list(self.directory.logs.values())
        if logs:
            self.dice.pick(logs).request_flush()

    # What the court looks at

    def entries(self, log: Log, since: int, upto: int) -> list[Entry]:
        """The records in a range, as the files have them."""
        found: list[Entry] = []
        for segment in log.segments:
            inode = self.disk.names.get(segment.log.path)
            if inode is None or (segment.sealed and segment.end_offset <= since):
                continue
            data = bytes(inode.live[: segment.size_bytes])
            for at, header in iterate_headers(data, partial_tail=True):
                if header.next_offset > since and header.base_offset < upto:
                    known = self.world.decoded.get(header)
                    if known is None:
                        values = [record.value or b"" for record in iterate(data, at)]
                        known = self.world.decoded[header] = [Entry(header.leader_epoch, value) for value in values]
                    found += known[max(0, since - header.base_offset) : upto - header.base_offset]
        return found


def _made(key: Key, topic_id: bytes) -> tuple[str, bytes, int]:
    return key[0], topic_id, key[1]


def _assignment(known: PartitionImage) -> Assignment:
    recovering = known.standing.recovery == RECOVERING
    return Assignment(known.leader, known.leader_epoch, known.partition_epoch, known.replicas, known.isr, recovering)


def _answered(found: ResponsePartitionData, replicas: tuple[int, ...]) -> Assignment:
    return Assignment(found.leader_id, found.leader_epoch, found.partition_epoch, replicas, tuple(found.isr))
