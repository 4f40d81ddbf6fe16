"""An administrator: creates and deletes topics, asking again until it knows the outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.sim.clients.client import Client
from penstock.sim.events import TopicDecided, TopicsRead, TopicWanted
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Script, Sleep

TIMEOUT_MS = 30_000
FOREVER = "-1"
RETRIABLE = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_CONTROLLER})


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic to be created."""

    name: str
    partitions: int = 1
    configs: dict[str, str] = field(default_factory=dict)
    replicas: int = 1

    @property
    def forgets(self) -> bool:
        """Whether retention takes from its replicas, from each at a time of its own."""
        return any(self.configs.get(name, FOREVER) != FOREVER for name in ("retention.ms", "retention.bytes"))


class Admin:
    """One administrator's connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, plan: TopicPlan) -> Script[None]:
        """Create a topic; that it exists already is the outcome of an earlier attempt."""
        configs = [CreatableTopicConfig(name=name, value=value) for name, value in plan.configs.items()]
        topic = CreatableTopic(
            name=plan.name, num_partitions=plan.partitions, replication_factor=plan.replicas, configs=configs
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        self._client.world.witness.see(TopicWanted(plan.name, exists=True))
        while True:
            reply = yield from self._client.insist(request, CreateTopicsResponse)
            result = reply.topics[0]
            if self._settled(result.error_code, ErrorCode.TOPIC_ALREADY_EXISTS, result.error_message):
                break
            yield from self._client.back_off()
        self._client.world.witness.see(TopicDecided(plan.name, exists=True))

    def delete(self, name: str) -> Script[None]:
        """Delete a topic; that there is none is the outcome of an earlier attempt."""
        state = DeleteTopicState(name=name)
        request = DeleteTopicsRequest(topics=[state], topic_names=[name], timeout_ms=TIMEOUT_MS)
        self._client.world.witness.see(TopicWanted(name, exists=False))
        while True:
            reply = yield from self._client.insist(request, DeleteTopicsResponse)
            result = reply.responses[0]
            if self._settled(result.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, result.error_message):
                break
            yield from self._client.back_off()
        is_heard = result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._client.world.witness.see(TopicDecided(name, exists=False, is_heard=is_heard))

    def topic_ids(self) -> Script[dict[str, bytes]]:
        """Give all topics with their ids, and tell of it."""
        reply = yield from self._client.insist(MetadataRequest(topics=None), MetadataResponse)
        found = {topic.name or "": topic.topic_id for topic in reply.topics}
        self._client.world.witness.see(TopicsRead(tuple(sorted(found))))
        return found

    def topic_id(self, name: str) -> Script[bytes]:
        """Give the id of a topic that exists."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        while True:
            reply = yield from self._client.insist(request, MetadataResponse)
            if reply.topics[0].error_code == ErrorCode.NONE:
                return reply.topics[0].topic_id
            yield from self._client.back_off()

    def come_and_go(self, name: str, rounds: int) -> Script[None]:
        """Create and delete a topic a few times; it exists in the end."""
        for _ in range(rounds):
            yield from self.create(TopicPlan(name, self._client.chance.between(1, 3)))
            yield Sleep(self._client.chance.between(0, SECOND))
            yield from self.delete(name)
        yield from self.create(TopicPlan(name))
        self._client.disconnect()

    def _settled(self, error_code: int, earlier: ErrorCode, message: str | None) -> bool:
        code = ErrorCode(error_code)
        retriable = code in RETRIABLE or code in self._client.excuses
        assert retriable or code in (ErrorCode.NONE, earlier), f"{self._client.name} got {code!r}: {message}"
        return not retriable
