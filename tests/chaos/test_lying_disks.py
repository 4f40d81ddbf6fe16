"""Files that are changed under real nodes: damage is named, the rest is served, and what others have comes back."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from tests.chaos.cluster import ChaosCluster, Node, on_loopback
from tests.cli.running import run_process
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.client]

TOPIC = "t"
RECORDS = 30
SIZE = 100_000
SECONDS_MAX = 30.0
SCRUB = {"penstock.scrub.bytes.per.second": "100000000"}
SMALL = {"segment.bytes": "1048576"}
METADATA = "__cluster_metadata-0"
METADATA_AT = 600


@pytest.fixture(scope="module")
def cluster() -> Iterator[ChaosCluster]:
    with on_loopback(3, SCRUB) as running:
        running.create_topic(TOPIC, 2, SMALL)
        write(running, range(2), range(RECORDS))
        yield running


def write(cluster: ChaosCluster, partitions: range, numbers: range) -> None:
    """Records of which each is acknowledged by all in-sync replicas; about ten make a segment."""
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0})
    for number in numbers:
        for partition in partitions:
            value = random.Random(number).randbytes(SIZE)
            producer.produce(
                TOPIC,
                value,
                str(number),
                partition,
                on_delivery=lambda error, _: refused.append(error) if error else None,
            )
        assert producer.flush(SECONDS_MAX) == 0
    assert refused == []


def read(cluster: ChaosCluster, partition: int, offset: int = 0) -> list[int]:
    """The offsets from there up to the end, each record with its checksum looked at."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "reader",
            "enable.partition.eof": True,
            "check.crcs": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(TOPIC, partition, offset)])
    found: list[int] = []

    def is_at_end() -> bool:
        message = consumer.poll(0.5)
        error = None if message is None else message.error()
        if message is not None and error is None:
            found.append(message.offset() or 0)
        return error is not None and error.code() == KafkaError._PARTITION_EOF

    wait_until(is_at_end, timeout_s=SECONDS_MAX, what="all is read")
    consumer.close()
    return found


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def logs(node: Node, partition: int) -> list[Path]:
    return sorted((node.folder / f"{TOPIC}-{partition}").glob("*.log"))


def content(node: Node, partition: int) -> bytes:
    return b"".join(path.read_bytes() for path in logs(node, partition))


def wait_equal(cluster: ChaosCluster, partition: int) -> None:
    cluster.wait_healed(TOPIC)
    nodes = cluster.nodes.values()
    wait_until(
        lambda: len({content(node, partition) for node in nodes}) == 1,
        timeout_s=SECONDS_MAX,
        what=f"all replicas of {TOPIC}-{partition} are equal",
    )


def wait_said(node: Node, since: int, *words: str) -> None:
    wait_until(
        lambda: all(each in node.output()[since:] for each in words),
        timeout_s=SECONDS_MAX,
        what=f"node {node.number} says {words}",
    )


def test_a_topic_by_the_name_of_the_metadata_log_is_nobody_s(cluster: ChaosCluster) -> None:
    """Created, written, deleted, and everybody killed: this took every topic and every folder once."""
    name, admin = "__cluster_metadata", cluster.admin
    nodes = list(cluster.nodes.values())
    before = {(node, partition): content(node, partition) for node in nodes for partition in range(2)}
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic(name, 1, 3)])[name].result(SECONDS_MAX)
    assert refused.value.args[0].code() == KafkaError.INVALID_REQUEST
    outcomes: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "message.timeout.ms": 3_000, "log_level": 0})
    producer.produce(name, b"harm", on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(SECONDS_MAX) == 0
    assert outcomes[0] is not None
    with pytest.raises(KafkaException):
        admin.delete_topics([name])[name].result(SECONDS_MAX)
    for node in nodes:
        node.kill()
    cluster.start(cluster.nodes)
    cluster.wait_healed(TOPIC)
    assert {key: content(*key) for key in before} == before
    assert name not in cluster.admin.list_topics(timeout=SECONDS_MAX).topics


def test_what_the_metadata_does_not_know_is_set_aside(cluster: ChaosCluster) -> None:
    victim = cluster.nodes[3]
    since, config = len(victim.output()), cluster.place.root / "node-3.properties"
    cluster.stop([3])
    ghost = victim.folder / "ghost-0"
    shutil.copytree(victim.folder / f"{TOPIC}-0", ghost)
    (ghost / "partition.metadata").write_text("version: 0\ntopic_id: Z2hvc3RnaG9zdGdob3N0Zw\n")
    held = sum(path.stat().st_size for path in ghost.glob("*.log"))
    cluster.start([3])
    wait_said(victim, since, "ghost-0")
    (aside,) = victim.folder.glob("ghost-0.*-stray")
    assert held == sum(path.stat().st_size for path in aside.glob("*.log")) > 0
    assert not ghost.exists()
    assert "ghost-0" in run_process("storage", "stray", "list", "--config", config).stdout
    cluster.stop([3])
    refused = run_process("storage", "stray", "restore", "ghost-0", "--config", config)
    assert (refused.returncode, aside.exists()) == (1, True), refused.stderr
    assert "ghost" in refused.stderr
    assert run_process("storage", "stray", "purge", "ghost-0", "--config", config, "--yes").returncode == 0
    assert not list(victim.folder.glob("*-stray"))
    cluster.start([3])
    cluster.wait_healed(TOPIC)


@pytest.mark.parametrize("led", [False, True], ids=["follower", "leader"])
def test_a_replica_that_was_damaged_while_it_was_away(cluster: ChaosCluster, led: bool) -> None:
    partition = int(led)
    leader = cluster.leader_of(TOPIC, partition)
    victim = cluster.nodes[leader if led else leader % 3 + 1]
    since = len(victim.output())
    cluster.stop([victim.number])
    before = read(cluster, partition)
    write(cluster, range(partition, partition + 1), range(1_000, 1_003))
    flip(logs(victim, partition)[1], SIZE * 3 // 2)
    cluster.start([victim.number])
    wait_said(victim, since, f"{TOPIC}-{partition} is damaged in", "leaves the in-sync set", "comes again from node")
    wait_equal(cluster, partition)
    assert len(read(cluster, partition)) == len(before) + 3


def test_a_leader_in_which_a_reader_meets_damage(cluster: ChaosCluster) -> None:
    victim = cluster.nodes[cluster.leader_of(TOPIC)]
    since, before = len(victim.output()), content(victim, 0)
    # The magic byte of the segment's first batch.
    flip(logs(victim, 0)[1], 16)
    assert read(cluster, 0)[:RECORDS] == list(range(RECORDS)), "another one leads, and has all of it"
    wait_said(victim, since, "where it was read")
    wait_equal(cluster, 0)
    assert content(victim, 0) == before


def test_an_index_that_is_overwritten(cluster: ChaosCluster) -> None:
    victim = cluster.nodes[cluster.leader_of(TOPIC)]
    since, first = len(victim.output()), int(logs(victim, 0)[1].stem)
    cluster.stop([victim.number])
    index = logs(victim, 0)[1].with_suffix(".index")
    index.write_bytes(random.Random(1).randbytes(index.stat().st_size))
    cluster.start([victim.number])
    cluster.wait_healed(TOPIC)
    for offset in range(first + 3, first + 9, 2):
        assert read(cluster, 0, offset)[0] == offset
    wait_said(victim, since, "is made anew")


def test_a_voter_whose_metadata_is_damaged(cluster: ChaosCluster) -> None:
    victim = cluster.nodes[1]
    since = len(victim.output())
    cluster.stop([1])
    flip(next((victim.folder / METADATA).glob("*.log")), METADATA_AT)
    cluster.start([1])
    wait_said(victim, since, "the metadata is damaged in", "the metadata is here again")
    wait_equal(cluster, 0)
    wait_equal(cluster, 1)


def test_two_voters_of_three_wait_and_lose_no_partition(cluster: ChaosCluster) -> None:
    """Comes last: the cluster does not get up from this by itself."""
    nodes = list(cluster.nodes.values())
    since = {node: len(node.output()) for node in nodes}
    cluster.stop(cluster.nodes)
    before = {(node, partition): content(node, partition) for node in nodes for partition in range(2)}
    for node in nodes[:2]:
        flip(next((node.folder / METADATA).glob("*.log")), METADATA_AT)
    for node in nodes:
        node.start()
    for node in nodes[:2]:
        wait_said(node, since[node], "the metadata is damaged in", "this node does not vote")
    for node in nodes:
        node.signal(signal.SIGTERM)
    assert {key: content(*key) for key in before} == before
    assert not [path for node in nodes for path in node.folder.glob("*-stray")]


def test_a_node_alone() -> None:
    """What was closed and lacks its end is offline, a person repairs other damage; what a kill tore is cut."""
    one = {"default.replication.factor": "1", "offsets.topic.replication.factor": "1"}
    with on_loopback(1, SCRUB | one) as alone:
        node, config = alone.nodes[1], next(alone.place.root.glob("*.properties"))
        alone.admin.create_topics([NewTopic(TOPIC, 3, 1, config=SMALL)])[TOPIC].result(SECONDS_MAX)
        write(alone, range(3), range(RECORDS))
        alone.stop([1])
        flip(logs(node, 0)[1], SIZE * 3 // 2)
        active = logs(node, 1)[-1]
        active.write_bytes(active.read_bytes()[:-5])
        assert run_process("storage", "verify", "--config", config).returncode == 1
        alone.start([1])
        wait_said(node, 0, f"{TOPIC}-1 is offline: damaged in {active}", f"{TOPIC}-0 is damaged in {logs(node, 0)[1]}")
        assert read(alone, 2) == list(range(RECORDS))
        alone.stop([1])
        for partition in range(2):
            name = f"{TOPIC}-{partition}"
            assert run_process("storage", "repair", name, "--config", config, "--yes").returncode == 0
        alone.start([1])
        # A reader passes what is missing at the end of a log when there is something behind it.
        write(alone, range(3), range(2_000, 2_001))
        for partition in range(2):
            assert len(read(alone, partition)) == RECORDS
        since = len(node.output())
        node.kill()
        torn = logs(node, 2)[-1]
        torn.write_bytes(torn.read_bytes()[:-5])
        alone.start([1])
        wait_said(node, since, f"{TOPIC}-2 was cut after a crash, in {torn}")
        assert read(alone, 2) == list(range(RECORDS))
