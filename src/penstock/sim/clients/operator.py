"""An operator: runs the errands of one topic, each until it is answered, and says what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.configs import DELETE, SET
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from penstock.core.metadata.reluctance import DRAINED
from penstock.core.raft.ids import TOPIC
from penstock.core.wire.api.add_raft_voter import AddRaftVoterResponse
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from penstock.core.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from penstock.core.wire.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterResponse
from penstock.sim.clients.admin import RETRIABLE, TIMEOUT_MS, Admin, TopicPlan
from penstock.sim.clients.client import Client
from penstock.sim.dynamic import seating, unseating
from penstock.sim.errands import OF_A_VOTER, Errand
from penstock.sim.events import Decided, Found, Lingers, Wanted
from penstock.sim.script import Script, Sleep

PREFERRED: Final = 0

REFUSALS: Final = {
    "grow": frozenset({ErrorCode.INVALID_PARTITIONS}),
    "set": frozenset[ErrorCode](),
    "elect": frozenset({ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}),
    "reassign": frozenset({ErrorCode.INVALID_REPLICA_ASSIGNMENT}),
    # Where none that stays behind is in sync, going back would be an unclean election.
    "cancel": frozenset({ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.INVALID_REPLICA_ASSIGNMENT}),
    "seat": frozenset({ErrorCode.DUPLICATE_VOTER}),
    "unseat": frozenset({ErrorCode.VOTER_NOT_FOUND}),
    # Of a machine that is only a controller.
    "drain": frozenset({ErrorCode.INVALID_REQUEST}),
    "undrain": frozenset({ErrorCode.INVALID_REQUEST}),
}
"""What an errand may end with besides success: it was done already, or cannot be done now."""

LEFT: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER})
"""What those hear whose change of voters was under way when its leader went; nobody asks another one for them."""

Ask = Callable[[Errand], Script[tuple[int, str | None]]]


class Operator:
    """One administrator with a list."""

    def __init__(self, client: Client, errands: Iterable[Errand], replicas: int, is_over: Callable[[], bool]) -> None:
        """The errands' times count from now on; none is begun when it is over."""
        self._client = client
        self._errands = tuple(errands)
        self._replicas = replicas
        self._is_over = is_over
        self._began_us = client.world.scheduler.now_us

    def script(self) -> Script[None]:
        for errand in self._errands:
            yield Sleep(max(self._began_us + errand.at_us - self._client.world.scheduler.now_us, 0))
            if self._is_over():
                break
            yield from self._run(errand)
        self._client.disconnect()

    def _run(self, errand: Errand) -> Script[None]:
        if errand.kind == "create":
            yield from Admin(self._client).create(TopicPlan(errand.topic, replicas=self._replicas))
        elif errand.kind == "delete":
            yield from Admin(self._client).delete(errand.topic)
        else:
            yield from self._decide(errand)

    def _decide(self, errand: Errand) -> Script[None]:
        witness, what, value = self._client.world.witness, _what(errand), errand.value or errand.kind
        if what is None:
            yield from self._insist(errand)
            return
        witness.see(Wanted(what, value))
        losses = self._client.losses
        is_done = yield from self._insist(errand)
        if self._client.losses > losses:
            witness.see(Lingers(what, value))
        if is_done:
            witness.see(Decided(what, value))

    def _insist(self, errand: Errand) -> Script[bool]:
        """Ask until there is an answer that counts; whether it was done, now or by an earlier attempt."""
        asks: dict[str, Ask] = {
            "grow": self._grow,
            "set": self._set,
            "elect": self._elect,
            "reassign": self._reassign,
            "cancel": self._reassign,
            "seat": self._seat,
            "unseat": self._unseat,
            "drain": self._drain,
            "undrain": self._drain,
        }
        while True:
            number, message = yield from asks[errand.kind](errand)
            code = ErrorCode(number)
            if code is ErrorCode.NONE:
                return True
            if code in REFUSALS[errand.kind]:
                return False
            retriable = RETRIABLE | self._client.excuses | (LEFT if errand.kind in OF_A_VOTER else frozenset())
            assert code in retriable, f"{self._client.name} got {code!r} for {errand}: {message}"
            yield from self._client.back_off()

    # ---- what is asked

    def _grow(self, errand: Errand) -> Script[tuple[int, str | None]]:
        topic = CreatePartitionsTopic(name=errand.topic, count=int(errand.value), assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        reply = yield from self._client.insist(request, CreatePartitionsResponse)
        return reply.results[0].error_code, reply.results[0].error_message

    def _set(self, errand: Errand) -> Script[tuple[int, str | None]]:
        config = AlterableConfig(name=errand.setting, config_operation=SET, value=errand.value)
        return self._alter(TOPIC_RESOURCE, errand.topic, config)

    def _drain(self, errand: Errand) -> Script[tuple[int, str | None]]:
        config = AlterableConfig(name=DRAINED, config_operation=DELETE, value=None)
        if errand.kind == "drain":
            config = AlterableConfig(name=DRAINED, config_operation=SET, value="true")
        return self._alter(BROKER_RESOURCE, errand.subject, config)

    def _alter(self, resource_type: int, name: str, config: AlterableConfig) -> Script[tuple[int, str | None]]:
        resource = AlterConfigsResource(resource_type=resource_type, resource_name=name, configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        reply = yield from self._client.insist(request, IncrementalAlterConfigsResponse)
        return reply.responses[0].error_code, reply.responses[0].error_message

    def _elect(self, errand: Errand) -> Script[tuple[int, str | None]]:
        asked = TopicPartitions(topic=errand.topic, partitions=[errand.partition.number])
        request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=[asked], timeout_ms=TIMEOUT_MS)
        reply = yield from self._client.insist(request, ElectLeadersResponse)
        if reply.error_code != ErrorCode.NONE:
            return reply.error_code, None
        result = reply.replica_election_results[0].partition_result[0]
        return result.error_code, result.error_message

    def _reassign(self, errand: Errand) -> Script[tuple[int, str | None]]:
        """Without a target it is undone."""
        target = [int(each) for each in errand.value.split(",")] if errand.value else None
        asked = ReassignablePartition(partition_index=errand.partition.number, replicas=target)
        topic = ReassignableTopic(name=errand.topic, partitions=[asked])
        request = AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        reply = yield from self._client.insist(request, AlterPartitionReassignmentsResponse)
        if reply.error_code != ErrorCode.NONE:
            return reply.error_code, reply.error_message
        result = reply.responses[0].partitions[0]
        return result.error_code, result.error_message

    def _seat(self, errand: Errand) -> Script[tuple[int, str | None]]:
        reply = yield from self._client.insist(seating(int(errand.subject)), AddRaftVoterResponse)
        return reply.error_code, reply.error_message

    def _unseat(self, errand: Errand) -> Script[tuple[int, str | None]]:
        reply = yield from self._client.insist(unseating(int(errand.subject)), RemoveRaftVoterResponse)
        return reply.error_code, reply.error_message


def _what(errand: Errand) -> str | None:
    """What is decided for good; who leads and where replicas are is not."""
    if errand.kind == "grow":
        return f"{errand.topic} partitions"
    if errand.kind in OF_A_VOTER:
        return f"{errand.topic} {errand.subject}"
    return f"{errand.topic} {errand.setting}" if errand.kind == "set" else None


def look_up(client: Client, errands: Iterable[Errand]) -> Script[None]:
    """Read everything that operators have decided, and tell of it."""
    for errand in {_what(errand): errand for errand in errands if _what(errand) is not None}.values():
        asks = {"grow": _count_partitions, "set": _read_setting}.get(errand.kind, _read_seat)
        value = yield from asks(client, errand)
        client.world.witness.see(Found(_what(errand) or "", value))


def _count_partitions(client: Client, errand: Errand) -> Script[str]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=errand.topic)], allow_auto_topic_creation=False)
    reply = yield from client.insist(request, MetadataResponse)
    return str(len(reply.topics[0].partitions))


def _read_seat(client: Client, errand: Errand) -> Script[str]:
    topic = RequestTopicData(topic_name=TOPIC, partitions=[RequestPartitionData(partition_index=0)])
    while True:
        reply = yield from client.insist(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
        if not reply.error_code and not reply.topics[0].partitions[0].error_code:
            voters = {voter.replica_id for voter in reply.topics[0].partitions[0].current_voters}
            return "seat" if int(errand.subject) in voters else "unseat"
        yield from client.back_off()


def _read_setting(client: Client, errand: Errand) -> Script[str]:
    resource = DescribeConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name=errand.topic, configuration_keys=[errand.setting]
    )
    reply = yield from client.insist(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
    return reply.results[0].configs[0].value or ""
