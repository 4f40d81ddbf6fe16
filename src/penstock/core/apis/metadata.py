"""Metadata (3). Version 1 lists all topics for null (0 for an empty list), 4 may forbid auto-creation, 12 asks by id.

A topic that is created on the way is answered once it exists, so that the client need not ask again. One that is named
several times is described once, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.apis.reachable import Reachable
from penstock.core.apis.rights import cluster_operations, operations
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.steps import Turns
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.metadata.image import Image, TopicImage
from penstock.core.metadata.topics import is_legal_name
from penstock.core.node.membership.internal_topics import create_missing
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches, on_topics
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import INTERNAL_TOPICS
from penstock.core.wire.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.schema import Response

PARTITIONS_PER_TURN_MAX = 500
"""About a millisecond of work; a topic alone counts as some."""
TOPIC_COST = 5
NO_OPERATIONS = -(2**31)
SETTLING_MS = 20
"""How long a process takes to die, from the first connection that closes to the last."""
DECIDING_MS = 100
"""How long the others mostly need at most to have other leaders than those of a process that has died."""
ARRIVING_MS = 1_000
"""A client asks who leads what right after it has connected. One that asks first after this time was here for something
else, and has a reason to ask now."""
LISTENER_ERROR_SINCE = 6
"""The version whose clients know LISTENER_NOT_FOUND."""


def handle(node: Node, request: MetadataRequest, slot: Slot) -> Answer:
    if slot.version < 12 and any(topic.name is None or topic.topic_id != ZERO_UUID for topic in request.topics or ()):
        return _refused(node, request)
    if request.topics:
        request.topics = _each_once(request.topics)
    slot.connection.charge(len(node.image.topics if (asked := _asked_for(request, slot.version)) is None else asked))
    missing = _to_create(node, request, slot.version)
    if not missing:
        return _tell(node, request, slot)

    def created(code: ErrorCode) -> None:
        node.run_steps(slot, respond(node, request, slot))

    create_missing(node, missing, created)
    return PENDING


def _tell(node: Node, request: MetadataRequest, slot: Slot) -> Answer:
    """Whoever asks again has perhaps lost a leader, whose process is just dying. Told that it leads as before, or that
    nobody does, a client would ask again half a second or a second later; in a moment we know better: the process hangs
    up here as well, and another leader is found."""
    is_new = _is_new(node, slot.connection)
    slot.connection.knows_leaders = True
    if node.cluster.is_lone or (is_new and not _awaits_leaders(node, request, slot.version)):
        return respond(node, request, slot)
    until_ms = node.now_ms + DECIDING_MS

    def look() -> None:
        if node.now_ms < until_ms and _awaits_leaders(node, request, slot.version):
            node.deadlines.at(node.now_ms + SETTLING_MS, look)
        else:
            node.run_steps(slot, respond(node, request, slot))

    node.deadlines.at(node.now_ms + SETTLING_MS, look)
    return PENDING


def _is_new(node: Node, connection: Connection) -> bool:
    return not connection.knows_leaders and node.now_us - connection.opened_us < ARRIVING_MS * 1000


def _awaits_leaders(node: Node, request: MetadataRequest, version: int) -> bool:
    """Whether something that is asked for is led by a broker that seems to be gone."""
    absent = node.cluster.absent()
    if not absent:
        return False
    asked = _asked_for(request, version)
    known = node.image.topics.values() if asked is None else (_find(node.image, wanted) for wanted in asked)
    return any(topic is not None and not absent.isdisjoint(topic.leaders) for topic in known)


def _asked_for(request: MetadataRequest, version: int) -> list[MetadataRequestTopic] | None:
    """None: for all."""
    return request.topics or None if version == 0 else request.topics


def _each_once(topics: list[MetadataRequestTopic]) -> list[MetadataRequestTopic]:
    return list({(topic.name, topic.topic_id): topic for topic in topics}.values())


def _find(image: Image, wanted: MetadataRequestTopic) -> TopicImage | None:
    if wanted.topic_id != ZERO_UUID:
        return image.topic_by_id(wanted.topic_id)
    return image.topic(wanted.name or "")


def _refused(node: Node, request: MetadataRequest) -> MetadataResponse:
    """Versions 10 and 11 have room for ids, but topics may not be asked for by them before 12."""
    code = node.error("Metadata", ErrorCode.INVALID_REQUEST)
    topics = [
        MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
        for topic in request.topics or ()
    ]
    return MetadataResponse(brokers=[], topics=topics)


def _to_create(node: Node, request: MetadataRequest, version: int) -> list[str]:
    """Names that may be created: asked for by name, legal, unknown, and nobody forbids it."""
    if request.topics is None or not node.settings["auto.create.topics.enable"]:
        return []
    if version >= 4 and not request.allow_auto_topic_creation:
        return []
    names = {topic.name for topic in request.topics if topic.name is not None and topic.topic_id == ZERO_UUID}
    names.discard(METADATA_TOPIC)
    return sorted(name for name in names if node.image.topic(name) is None and is_legal_name(name))


def respond(node: Node, request: MetadataRequest, slot: Slot) -> Steps[MetadataResponse]:
    listener = slot.context.listener
    topics = yield from _topics(node, request, slot)
    return MetadataResponse(
        brokers=_brokers(node, listener),
        cluster_id=node.meta.cluster_id,
        controller_id=node.node_id,
        topics=topics,
        cluster_authorized_operations=(
            cluster_operations(node, slot) if request.include_cluster_authorized_operations else NO_OPERATIONS
        ),
    )


def _brokers(node: Node, listener: str) -> list[MetadataResponseBroker]:
    """All that serve, and those that did until a short time ago."""
    lingers = node.cluster.absences.lingers
    serving = [broker for broker in node.image.brokers.values() if not broker.fenced or lingers(broker.id)]
    found = [(broker, broker.endpoint(listener)) for broker in serving]
    return [
        MetadataResponseBroker(node_id=broker.id, host=point.host, port=point.port, rack=broker.rack)
        for broker, point in found
        if point is not None
    ]


def _topics(node: Node, request: MetadataRequest, slot: Slot) -> Steps[list[MetadataResponseTopic]]:
    image = node.image
    reachable = Reachable(
        image,
        slot.context.listener,
        says_listener=slot.version >= LISTENER_ERROR_SINCE,
        absent=node.cluster.absent(),
    )
    turns, told = Turns(PARTITIONS_PER_TURN_MAX), []
    asked: Iterable[MetadataRequestTopic] | None = _asked_for(request, slot.version)
    if asked is None:
        asked = (MetadataRequestTopic(name=name) for name in sorted(image.topics))
    for wanted in asked:
        yield from turns.spend(TOPIC_COST)
        found = _find(image, wanted)
        topic = _unknown(node, wanted) if found is None else (yield from _described(found, reachable, turns))
        topic.topic_authorized_operations = NO_OPERATIONS
        if request.include_topic_authorized_operations and topic.name is not None:
            topic.topic_authorized_operations = operations(node, slot, Resource.TOPIC, topic.name)
        told.append(topic)
    return told


def _unknown(node: Node, wanted: MetadataRequestTopic) -> MetadataResponseTopic:
    if wanted.topic_id != ZERO_UUID:
        code = node.error("Metadata", ErrorCode.UNKNOWN_TOPIC_ID)
        return MetadataResponseTopic(error_code=code, name=None, topic_id=wanted.topic_id)
    name = wanted.name or ""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return MetadataResponseTopic(error_code=node.error("Metadata", code), name=name)


def _described(topic: TopicImage, reachable: Reachable, turns: Turns) -> Steps[MetadataResponseTopic]:
    partitions: list[MetadataResponsePartition] = []
    for first in range(0, len(topic), PARTITIONS_PER_TURN_MAX):
        some = range(first, min(first + PARTITIONS_PER_TURN_MAX, len(topic)))
        yield from turns.spend(len(some))
        partitions += [_partition(topic, index, reachable) for index in some]
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
    )


def _partition(topic: TopicImage, index: int, reachable: Reachable) -> MetadataResponsePartition:
    leader = topic.leaders[index]
    return MetadataResponsePartition(
        error_code=reachable.error(leader),
        partition_index=index,
        leader_id=reachable.leader(leader),
        leader_epoch=topic.leader_epochs[index],
        replica_nodes=list(topic.replicas[index]),
        isr_nodes=list(topic.isrs[index]),
        offline_replicas=reachable.offline(topic, index),
    )


def authorize(question: Question) -> Response | None:
    """Of all topics everybody is told those that he may look at. Who asks for a topic that is not there yet must be
    allowed to create it."""
    request, version = question.request, question.version

    def leave_out(answer: MetadataResponse) -> None:
        answer.topics = [
            each for each in answer.topics if question.may(Operation.DESCRIBE, Resource.TOPIC, each.name or "")
        ]

    if _asked_for(request, version) is None:
        question.after.append(leave_out)
        return None
    request.topics = _each_once(request.topics)
    creates = question.is_creating and (version < 4 or request.allow_auto_topic_creation)

    def verdict(topic: MetadataRequestTopic) -> ErrorCode | None:
        name = topic.name if topic.topic_id == ZERO_UUID else question.topic_name(topic.topic_id)
        if name is None:
            return None
        allowed = question.may(Operation.DESCRIBE, Resource.TOPIC, name)
        if allowed and creates and not question.has_topic(name):
            allowed = question.may_touch(CREATE, name)
        return None if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def judged() -> None:
        if not request.topics:
            # The oldest version says by the same that it wants all of them.
            question.after.insert(0, lambda answer: answer.topics.clear())

    return question.set_aside("topics", verdict, goes_on=True, then=judged)


CREATE = Touches(Operation.CREATE, Resource.TOPIC, "topics.name", unless=Touches(Operation.CREATE, Resource.CLUSTER))
API = Api(
    MetadataRequest,
    range(14),
    handle,
    (*on_topics(Operation.DESCRIBE, "topics.name", "topics.topic_id"), CREATE),
    authorize=authorize,
)
