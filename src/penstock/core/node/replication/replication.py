"""Replication as a node does it: followers fetch from their leaders' nodes, leaders ask the controller, time passes.

The machines are in `core/partition`; here they meet links, the controller's channel and the deadlines. What happened to
them during a turn is acted upon at its end (`pump`), so that all that changed goes into one request per node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.node.deadlines import Deadline
from penstock.core.node.links.purposes import ALTER, REPLICATE
from penstock.core.node.membership.addresses import BrokerAddresses
from penstock.core.node.replication.ports import ReplicationHost
from penstock.core.node.replication.silence import Silence
from penstock.core.node.replication.throttling import Throttling
from penstock.core.partition.fetcher import Fetcher, Fetchers, FetchSettings, Key
from penstock.core.partition.follower import Follower
from penstock.core.partition.in_sync import Assignment, Proposal
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import LeaderContext, ReplicatedLeader
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from penstock.core.wire.api.fetch import FetchResponse
from penstock.core.wire.schema import Response

NO_EPOCH: Final = -1
ALTER_MS: Final = 5_000
RETRY_MS: Final = 50
"""Before a change of an in-sync set is asked for again that nobody answered."""
TICKED_PER_TURN_MAX: Final = 500
"""Leaders that look at their followers before others get their turn: a few milliseconds of work."""

Asked = list[tuple[ReplicatedLeader, Proposal]]


class Replication:
    """What this node follows and leads together with others. A node that shares no partition pays for none of it."""

    def __init__(self, node: ReplicationHost) -> None:
        self._node = node
        self.around = LeaderContext(node.node_id, NO_EPOCH, self, self.clock, self._holds_lease, 0)
        self.proposals = self.around.proposals
        self.woken: dict[int, None] = {}
        """Leaders' ids, whose fetchers may have something to ask."""
        self.throttling = Throttling(node.node_id)
        self._fetchers = Fetchers(self._make_fetcher)
        self._timers: dict[int, Deadline] = {}
        self._addresses = BrokerAddresses(node)
        self._leading: dict[ReplicatedLeader, None] = {}
        self._silence = Silence()
        self._is_ticking = self._is_listening = False
        self._held_until_ms = 0
        self._offset_ms = 0

    @property
    def led(self) -> Collection[ReplicatedLeader]:
        """What this node leads together with others."""
        return self._leading.keys()

    # What leaders ask of the image and the controller

    def live_epoch(self, broker_id: int) -> int | None:
        broker = self._node.image.brokers.get(broker_id)
        return broker.epoch if broker is not None and broker.is_active else None

    def rack_of(self, broker_id: int) -> str | None:
        broker = self._node.image.brokers.get(broker_id)
        return None if broker is None else broker.rack

    def clock(self) -> int:
        """Begins with the time of day, and goes on whatever that is set to."""
        return self._offset_ms + self._node.now_us // 1000

    def _holds_lease(self) -> bool:
        return self._node.cluster.broker_lifecycle.holds_lease()

    def is_known(self) -> bool:
        """Whether the image knows this process. An older one speaks of the process before, which may have had more in
        its logs than is left of them: nobody leads by it."""
        node = self._node
        if not node.is_broker or node.cluster.is_lone:
            return node.is_broker
        broker, epoch = node.image.brokers.get(node.node_id), node.cluster.broker_lifecycle.epoch
        return broker is not None and broker.epoch == epoch

    def image_changed(self, brokers_changed: bool) -> None:
        """Another image is about to be acted upon."""
        node = self._node
        self._offset_ms = self._offset_ms or node.now_ms - node.now_us // 1000
        broker = node.image.brokers.get(node.node_id)
        self.around.broker_epoch = NO_EPOCH if broker is None else broker.epoch
        self.throttling.configure(node.settings, self.clock())
        settings = node.settings
        self.around.lag_ms_max = settings["replica.lag.time.max.ms"]
        silent_ms, wait_ms = settings["penstock.replica.silent.time.max.ms"], settings["replica.fetch.wait.max.ms"]
        self._silence.configure(silent_ms, wait_ms)
        self.around.full_lag_ms_max = min(self._silence.full_lag_ms, self.around.lag_ms_max)
        if brokers_changed:
            self.around.full = node.image.full_brokers()
        if brokers_changed and self._leading:
            node.tasks.run(self._each_leader(ReplicatedLeader.reconsider))

    # Roles come and go

    def began(self, partition: Partition) -> None:
        if isinstance(partition, Follower) and partition.leader >= 0:
            leader = partition.leader
            name = f"{partition.topic}-{partition.index}"
            partition.on_stop = lambda why: self._node.log(
                "error", "replication", f"{name} is not followed any further: {why}"
            )
            self._fetchers.follow(partition).on_change = partial(self._wake, leader)
            self._wake(leader)
        elif isinstance(partition, ReplicatedLeader):
            self._leading[partition] = None
            for replica in partition.in_sync.isr:
                if replica != self._node.node_id:
                    self.heard_from(replica)
            if not self._is_ticking:
                self._tick_later()
            if not self._is_listening:
                self._listen_later()

    def ended(self, partition: Partition) -> None:
        if isinstance(partition, Follower):
            self._fetchers.forget((partition.topic_id, partition.index))
            self._wake(partition.leader)
        elif isinstance(partition, ReplicatedLeader):
            self._leading.pop(partition, None)

    def heard_from(self, broker_id: int) -> None:
        """A follower fetches, whatever it asks for."""
        self._silence.heard(broker_id, self.clock())
        if broker_id in self.around.silent:
            self.around.silent -= {broker_id}
            self._node.tasks.run(self._each_leader(ReplicatedLeader.reconsider))

    def unheard_leaders(self) -> frozenset[int]:
        """Whoever owes an answer to a fetch for longer than that can take, and may yet be replaced for it."""
        now_ms, silence = self.clock(), self._silence
        return frozenset(
            leader
            for leader, fetcher in self._fetchers.by_leader.items()
            if silence.answer_ms < fetcher.waits_ms(now_ms) <= silence.doubt_ms
        )

    # The end of a turn

    def pump(self) -> None:
        """Ask what is to be asked."""
        woken, self.woken = self.woken, {}
        for leader in woken:
            fetcher = self._fetchers.by_leader.get(leader)
            if fetcher is not None:
                self._fetch(leader, fetcher)
        if self.proposals and self.clock() >= self._held_until_ms:
            self._ask_controller()

    def _wake(self, leader: int) -> None:
        self.woken[leader] = None

    # Fetching

    def _make_fetcher(self) -> Fetcher:
        settings = self._node.settings
        fetch = FetchSettings(
            wait_ms_max=settings["replica.fetch.wait.max.ms"],
            bytes_min=settings["replica.fetch.min.bytes"],
            partition_bytes_max=settings["replica.fetch.max.bytes"],
            response_bytes_max=settings["replica.fetch.response.max.bytes"],
            backoff_ms=settings["replica.fetch.backoff.ms"],
            answer_ms_max=settings["replica.socket.timeout.ms"],
        )
        throttling = self.throttling
        return Fetcher(self._node.node_id, self._broker_epoch, fetch, throttling.fetching, throttling.slows_fetching)

    def _broker_epoch(self) -> int:
        return self.around.broker_epoch

    def _fetch(self, leader: int, fetcher: Fetcher) -> None:
        request = fetcher.next(self.clock())
        if request is not None:
            address = self._addresses.of(leader)
            if address is None:
                fetcher.answered(None, self.clock())
            else:
                answered = partial(self._fetched, leader, fetcher)
                # Longer and longer: a leader may need that long to read what is asked for.
                answer_ms, quiet_ms = fetcher.settings.answer_ms_max, self._silence.wire_ms << fetcher.losses
                self._node.links.ask(address, REPLICATE, request, answer_ms, answered, quiet_ms)
        self._set_timer(leader, fetcher)

    def _fetched(self, leader: int, fetcher: Fetcher, response: Response | None) -> None:
        fetcher.answered(response if isinstance(response, FetchResponse) else None, self.clock())
        self._wake(leader)

    def _set_timer(self, leader: int, fetcher: Fetcher) -> None:
        """Look at a fetcher again when one of its followers, or all of them, have rested."""
        timer, due_ms = self._timers.pop(leader, None), fetcher.due_ms
        if timer is not None:
            timer.cancel()
        if due_ms is not None:
            self._timers[leader] = self._after(due_ms - self.clock(), partial(self._wake, leader))

    # In-sync sets

    def _ask_controller(self) -> None:
        asked: Asked = list(self.proposals.items())
        self.proposals.clear()
        topics: defaultdict[bytes, list[RequestPartitionData]] = defaultdict(list)
        for leader, proposal in asked:
            topics[leader.topic_id].append(_proposed(leader, proposal))
        request = AlterPartitionRequest(
            broker_id=self._node.node_id,
            broker_epoch=self.around.broker_epoch,
            topics=[RequestTopicData(topic_id=topic_id, partitions=some) for topic_id, some in topics.items()],
        )
        self._node.cluster.channel.ask(request, ALTER_MS, partial(self._altered, asked), ALTER)

    def _altered(self, asked: Asked, response: Response | None) -> None:
        """What nobody has answered is asked again, a little later."""
        code = ErrorCode.NETWORK_EXCEPTION
        found: dict[Key, ResponsePartitionData] = {}
        if isinstance(response, AlterPartitionResponse):
            code = ErrorCode(response.error_code) or code
            for topic in response.topics:
                found.update({(topic.topic_id, each.partition_index): each for each in topic.partitions})
        for leader, proposal in asked:
            answer = found.get((leader.topic_id, leader.index))
            if answer is None:
                leader.answered(proposal, code, None)
            else:
                leader.answered(proposal, ErrorCode(answer.error_code), _answered(answer, leader.replicas))
        if self.proposals:
            self._held_until_ms = self.clock() + RETRY_MS
            self._after(RETRY_MS, lambda: None)

    # Time

    def _after(self, delay_ms: int, call: Callable[[], None]) -> Deadline:
        return self._node.deadlines.at(self._node.now_ms + max(0, delay_ms), call)

    def _tick_later(self) -> None:
        self._is_ticking = True
        interval_ms = max(1, self.around.lag_ms_max // 2)
        self._after(interval_ms, partial(self._tick, self.clock() + interval_ms))

    def _tick(self, due_ms: int) -> None:
        self._is_ticking = bool(self._leading)
        if self._is_ticking:
            late_ms = max(0, self.clock() - due_ms)
            self._node.tasks.run(self._each_leader(lambda leader: leader.tick(late_ms)))
            self._tick_later()

    def _listen_later(self) -> None:
        self._is_listening = True
        interval_ms = self._silence.interval_ms
        self._after(interval_ms, partial(self._listen, self.clock() + interval_ms))

    def _listen(self, due_ms: int) -> None:
        """Look who is silent. What this node's own timer comes too late by is no silence of others."""
        self._is_listening = bool(self._leading)
        self.around.is_forsaken = False
        if not self._leading:
            return
        now_ms = self.clock()
        self._silence.forgive(max(0, now_ms - due_ms))
        node = self._node
        is_forsaken = node.cluster.broker_lifecycle.is_unheard() and node.quorum.is_left_out
        self.around.is_forsaken = is_forsaken
        if is_forsaken:
            node.tasks.run(self._each_leader(ReplicatedLeader.give_up))
        silent = self._silence.silent(now_ms)
        if silent:
            # It stays so until it is heard of again, whether or not somebody waits for it.
            self.around.silent |= silent
            node.tasks.run(self._part_from(silent))
        if self.around.full:
            node.tasks.run(self._each_leader(ReplicatedLeader.part_from_full))
        self._listen_later()

    def _part_from(self, silent: frozenset[int]) -> Steps[None]:
        awaited: set[int] = set()
        yield from self._each_leader(lambda leader: awaited.update(leader.part_from(silent)))
        self._silence.forget(silent - awaited)

    def _each_leader(self, act: Callable[[ReplicatedLeader], None]) -> Steps[None]:
        for number, leader in enumerate(list(self._leading)):
            if not leader.removed:
                act(leader)
            if number % TICKED_PER_TURN_MAX == TICKED_PER_TURN_MAX - 1:
                yield Pause()


def _proposed(leader: ReplicatedLeader, proposal: Proposal) -> RequestPartitionData:
    members = [BrokerState(broker_id=each.id, broker_epoch=each.broker_epoch) for each in proposal.members]
    return RequestPartitionData(
        partition_index=leader.index,
        leader_epoch=proposal.leader_epoch,
        partition_epoch=proposal.partition_epoch,
        new_isr_with_epochs=members,
    )


def _answered(answer: ResponsePartitionData, replicas: tuple[int, ...]) -> Assignment | None:
    if answer.error_code:
        return None
    return Assignment(answer.leader_id, answer.leader_epoch, answer.partition_epoch, replicas, tuple(answer.isr))
