"""What broker settings do to connections, requests, topics and groups."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from penstock.core.base.ports import Slice
from penstock.core.metadata.image import GROUP_RESOURCE
from penstock.core.records.codecs import Codec
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.describe_acls import DescribeAclsRequest
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from penstock.core.wire.stored.cluster_metadata import ConfigRecord
from tests.node.world import fetch, found_in
from tests.settings_act.asking import (
    append,
    commit,
    committed,
    files,
    find_coordinator,
    headers,
    join,
    metadata,
    produce_request,
)
from tests.settings_act.trial import NOTHING, Trial

THREE_LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:9092,EXTRA://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT,CONTROLLER:PLAINTEXT",
}
ANOTHER_NAME = {"listeners": "CLIENTS://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"}
CONNECTIONS = 5

# Who the node is


def node_id(trial: Trial) -> list[int]:
    return [broker.node_id for broker in metadata(trial.begin({"node.id": None})).brokers]


def rack(trial: Trial) -> str | None:
    found: str | None = metadata(trial.begin()).brokers[0].rack
    return found


def address(trial: Trial) -> tuple[str, int]:
    broker = metadata(trial.begin()).brokers[0]
    return broker.host, broker.port


def brokers_behind_extra_listener(trial: Trial) -> int:
    return len(metadata(trial.begin(THREE_LISTENERS), listener="EXTRA").brokers)


def error_of_rules(trial: Trial, settings: Mapping[str, str | None] = NOTHING) -> int:
    """What who asks for all access rules hears."""
    everything = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    code: int = trial.begin(settings).client().ask(everything).error_code
    return code


def starts(trial: Trial) -> bool:
    return trial.starts()


def starts_with_another_name(trial: Trial) -> bool:
    return trial.starts(ANOTHER_NAME)


def data_folder(trial: Trial) -> list[str]:
    world = trial.begin({"log.dirs": None}, topic={})
    append(world, "a=1")
    return [path for path in world.files.paths() if path.endswith("t-0/00000000000000000000.log")]


def metadata_folder(trial: Trial) -> list[str]:
    found = (path.partition("/__cluster_metadata-0/") for path in trial.begin().files.paths())
    return sorted({folder for folder, inside, _ in found if inside})


def segments_of_metadata(trial: Trial, size: int, wait_ms: int = 0) -> int:
    """After two records of such a size, and some time between them."""
    world = trial.begin()
    for _ in range(2):
        world.jump(wait_ms)
        record = ConfigRecord(resource_type=GROUP_RESOURCE, resource_name="g", name="x", value="y" * size)
        world.turn(lambda record=record: world.node.submit([record], lambda code: None))  # type: ignore[misc]  # now
        world.settle()
    return len(files(world, ".log", "/data/__cluster_metadata-0"))


# Connections


def connections_taken(trial: Trial, host: str = "10.0.0.1") -> int:
    world = trial.begin()
    for each in list(world.node.connections):
        each.closed()
    return sum(world.node.connect(host, port) is not None for port in range(CONNECTIONS))


def is_closed_when_idle(trial: Trial) -> bool:
    world = trial.begin()
    client = world.client()
    world.jump(60_000)
    return client.connection.closing


def is_closed_for_elements(trial: Trial) -> bool:
    """Whether a client is cut off that asks for 5,000 groups."""
    client = trial.begin(topic={}).client()
    client.send(DescribeGroupsRequest(groups=["g"] * 5_000))
    client.world.pass_time(0)
    closed: bool = client.connection.closing
    return closed


def requests_that_may_go_on(trial: Trial) -> int:
    """Of ten clients that all begin a request of a megabyte."""
    world = trial.begin({"socket.request.max.bytes": "1000000"})
    connections = [world.client().connection for _ in range(10)]
    for connection in connections:
        world.turn(partial(connection.feed, (999_000).to_bytes(4, "big") + bytes(100)))
    return sum(connection.reading for connection in connections)


def is_closed_for_slowness(trial: Trial) -> bool:
    world = trial.begin()
    connection = world.client().connection
    world.turn(lambda: connection.feed(bytes(3)))
    world.pass_time(10_000)
    return connection.closing


def is_closed_for_size(trial: Trial) -> bool:
    world = trial.begin(topic={})
    client = world.client()
    client.send(produce_request([(b"a", bytes(5000))], world.now_ms), 9)
    return client.connection.closing


def served_behind_a_waiting_one(trial: Trial) -> bool:
    """Whether a request is served while the one before it still waits."""
    world = trial.begin(topic={})
    client = world.client()
    waiting = client.frame(fetch({("t", 0): 0}, max_wait_ms=60_000, min_bytes=10_000), 11)
    other = client.frame(produce_request([(b"a", b"1")], world.now_ms), 9)
    world.turn(lambda: client.connection.feed(waiting + other))
    return bool(files(world, ".log"))


def replies_before_reading_stops(trial: Trial) -> int:
    world = trial.begin(topic={})
    append(world, "a=" + "x" * 50_000)
    asked = b"".join(world.client().frame(fetch({("t", 0): 0}), 11) for _ in range(10))
    nobody = world.node.connect("10.0.0.1", 1)
    assert nobody is not None
    world.turn(lambda: nobody.feed(asked))
    world.pass_time(0)
    return sum(type(part) is Slice for part in nobody.out)


# Requests


def bytes_of_fetch(trial: Trial) -> int:
    """Two batches of some 3,000 bytes; the first is given whatever the limit."""
    world = trial.begin(topic={})
    for _ in range(2):
        append(world, "a=" + "x" * 3000)
    answer = world.client().ask(fetch({("t", 0): 0}), 11)
    return len(found_in(answer)["t", 0].records) // 3000


def gets_session(trial: Trial) -> bool:
    world = trial.begin(topic={})
    answer = world.client().ask(fetch({("t", 0): 0}, session=(0, 0)), 11)
    return bool(answer.session_id != 0)


def partitions_of_page(trial: Trial) -> int:
    world = trial.begin()
    world.create("many", 3)
    answer = world.client().ask(DescribeTopicPartitionsRequest(topics=[TopicRequest(name="many")]))
    return len(answer.topics[0].partitions)


def takes_writes_on_a_full_disk(trial: Trial) -> bool:
    """Three quarters of this disk are used."""
    world = trial.begin(topic={})
    world.files.space_bytes = 1 << 38
    world.jump(2_000)
    return append(world, "a=1") == 0


# Topics


def partitions_of_new_topic(trial: Trial) -> int:
    world = trial.begin()
    wanted = CreatableTopic(name="t", num_partitions=-1, replication_factor=1)
    answer = world.client().ask(CreateTopicsRequest(topics=[wanted], timeout_ms=1000))
    partitions: int = answer.topics[0].num_partitions
    return partitions


def error_of_new_topic(trial: Trial) -> int:
    world = trial.begin()
    wanted = CreatableTopic(name="t", num_partitions=1, replication_factor=-1)
    answer = world.client().ask(CreateTopicsRequest(topics=[wanted], timeout_ms=1000))
    code: int = answer.topics[0].error_code
    return code


def error_of_unknown_topic(trial: Trial) -> int:
    code: int = metadata(trial.begin(), "unheard-of").topics[0].error_code
    return code


def error_of_deletion(trial: Trial) -> int:
    world = trial.begin(topic={})
    answer = world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    code: int = answer.responses[0].error_code
    return code


# Groups


def error_of_note(trial: Trial) -> int:
    return commit(trial.begin(topic={}), "n" * 100)


def offset_after(trial: Trial, wait_ms: int, retention_minutes: int | None = None) -> int:
    others = {} if retention_minutes is None else {"offsets.retention.minutes": str(retention_minutes)}
    world = trial.begin(others, topic={})
    assert commit(world) == 0
    world.jump(wait_ms)
    return committed(world)


def offsets_folders(trial: Trial) -> list[str]:
    world = trial.begin()
    find_coordinator(world)
    return sorted(folder for folder in world.disk.folders if folder.startswith("/data/__consumer_offsets-"))


def codec_of_offsets(trial: Trial) -> Codec:
    world = trial.begin({"offsets.topic.num.partitions": "1"}, topic={})
    assert commit(world) == 0
    return Codec(headers(world, "/data/__consumer_offsets-0")[0].codec)


def segments_of_offsets(trial: Trial) -> int:
    """Some 1.2 MB of commits."""
    world = trial.begin({"offsets.topic.num.partitions": "1", "offset.metadata.max.bytes": "30000"}, topic={})
    for _ in range(40):
        assert commit(world, "n" * 30_000) == 0
    return len(files(world, ".log", "/data/__consumer_offsets-0"))


def joined_within(trial: Trial, wait_ms: int) -> bool:
    world = trial.begin()
    client = join(world)
    world.pass_time(wait_ms)
    return bool(client.replies())


def error_of_session_timeout(trial: Trial, session_timeout_ms: int) -> int:
    world = trial.begin()
    client = join(world, session_timeout_ms)
    world.jump(0)
    (answer,) = client.replies()
    code: int = answer.error_code
    return code


def errors_of_large_member(trial: Trial) -> list[int]:
    """No answer, where it waits for others."""
    return [answer.error_code for answer in join(trial.begin(), metadata=bytes(70_000)).replies()]


def errors_of_second_member(trial: Trial) -> list[int]:
    """No answer, where it waits for the first member to join again."""
    world = trial.begin()
    first = join(world)
    world.jump(0)
    assert first.replies()
    return [answer.error_code for answer in join(world).replies()]


def scrubs(trial: Trial) -> bool:
    """Whether a sealed segment is read without anybody asking for it."""
    world = trial.begin(topic={"segment.ms": "1000"})
    append(world, "a=1")
    world.jump(2_000)
    append(world, "b=1")
    world.jump(25 * 3_600_000)
    world.pass_time(2_000)
    return world.node.metrics.scrubbed_bytes > 0
