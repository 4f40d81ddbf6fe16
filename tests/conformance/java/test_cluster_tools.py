"""Kafka's tools for clusters against three nodes: the quorum, moving replicas and leaders, features, what is missing
when a node is down. One cluster for all of it, in this order: the last test stops a node."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.running import Up, command, running
from tests.kafka_peer import Tool, java_tool
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow]

SECONDS_MAX = 60.0
MOVED_BYTES = 2 << 20
SLOW = "1000"
"""Bytes in a second: what is moved so slowly is still moving when the next tool looks."""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("cluster") / "data", "--nodes", "3") as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap})
        # Topics by where their replicas are, the preferred leader first.
        for name, replicas, configs in (
            ("everywhere", [[1, 2, 3], [2, 3, 1]], {}),
            ("demanding", [[3, 1, 2]], {"min.insync.replicas": "3"}),
            ("alone", [[3]], {"min.insync.replicas": "1"}),
            ("moving", [[1]], {"min.insync.replicas": "1"}),
        ):
            topic = NewTopic(name, len(replicas), replica_assignment=replicas, config=configs)
            admin.create_topics([topic])[name].result(SECONDS_MAX)
        producer = Producer({"bootstrap.servers": started.bootstrap, "message.max.bytes": MOVED_BYTES})
        for _ in range(4):
            producer.produce("moving", bytes(MOVED_BYTES // 4))
        assert producer.flush(SECONDS_MAX) == 0
        yield started


def run(up: Up, tool: Tool, *args: str | Path) -> str:
    where = ("--bootstrap-server", up.bootstrap)
    # This one wants to hear first what it is to do.
    done = java_tool(tool, *args, *where) if tool is Tool.CLUSTER else java_tool(tool, *where, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exception" not in done.stderr, done.stderr
    return done.stdout


def leaders(up: Up, topic: str) -> list[int]:
    found = AdminClient({"bootstrap.servers": up.bootstrap}).list_topics(topic, SECONDS_MAX).topics[topic]
    return [partition.leader for _, partition in sorted(found.partitions.items())]


def in_sync(up: Up, topic: str) -> int:
    found = AdminClient({"bootstrap.servers": up.bootstrap}).list_topics(topic, SECONDS_MAX).topics[topic]
    return len(found.partitions[0].isrs)


def test_metadata_quorum(up: Up) -> None:
    status = run(up, Tool.METADATA_QUORUM, "describe", "--status")
    found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    leader = found["LeaderId"].strip()
    assert leader in ("1", "2", "3")
    assert [voter["id"] for voter in json.loads(found["CurrentVoters"])] == [1, 2, 3]
    replication = run(up, Tool.METADATA_QUORUM, "describe", "--replication")
    rows = {line.split()[0]: line.split()[-1] for line in replication.splitlines()[1:] if line}
    assert rows == {number: "Leader" if number == leader else "Follower" for number in ("1", "2", "3")}


def test_cluster(up: Up) -> None:
    meta = (up.node_folder / "meta.properties").read_text()
    assert f"cluster.id={run(up, Tool.CLUSTER, 'cluster-id').split(': ')[1].strip()}" in meta
    endpoints = run(up, Tool.CLUSTER, "list-endpoints").splitlines()
    ports = {row[0]: row[2] for row in (line.split() for line in endpoints[1:]) if row}
    assert ports == {str(number): str(up.port + number - 1) for number in (1, 2, 3)}


def test_features(up: Up) -> None:
    described = run(up, Tool.FEATURES, "describe")
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: 4\.3-IV0", described)
    assert re.search(r"eligible\.leader\.replicas\.version\s.*FinalizedVersionLevel: 1\s", described)
    tried = run(up, Tool.FEATURES, "upgrade", "--dry-run", "--feature", "eligible.leader.replicas.version=1")
    assert "can be upgraded to 1" in tried


def test_log_dirs(up: Up) -> None:
    answer = json.loads(run(up, Tool.LOG_DIRS, "--describe", "--topic-list", "everywhere,alone").splitlines()[-1])
    found = {
        broker["broker"]: sorted(each["partition"] for folder in broker["logDirs"] for each in folder["partitions"])
        for broker in answer["brokers"]
    }
    both = ["everywhere-0", "everywhere-1"]
    assert found == {1: both, 2: both, 3: ["alone-0", *both]}


def test_reassignment(up: Up, tmp_path: Path) -> None:
    asked, plan = tmp_path / "asked.json", tmp_path / "plan.json"
    asked.write_text('{"version": 1, "topics": [{"topic": "moving"}]}')
    generated = run(
        up, Tool.REASSIGN_PARTITIONS, "--generate", "--topics-to-move-json-file", asked, "--broker-list", "2"
    )
    plan.write_text(generated.splitlines()[-1])
    (wanted,) = json.loads(plan.read_text())["partitions"]
    assert (wanted["topic"], wanted["replicas"]) == ("moving", [2])

    by_plan = ("--reassignment-json-file", plan)
    executed = run(up, Tool.REASSIGN_PARTITIONS, "--execute", *by_plan, "--throttle", SLOW)
    assert "Successfully started partition reassignment for moving-0" in executed
    listed = run(up, Tool.REASSIGN_PARTITIONS, "--list")
    assert "moving-0: replicas: 2,1. adding: 2. removing: 1." in listed
    assert "is still in progress" in run(up, Tool.REASSIGN_PARTITIONS, "--verify", *by_plan)
    cancelled = run(up, Tool.REASSIGN_PARTITIONS, "--cancel", *by_plan)
    assert "Successfully cancelled partition reassignment" in cancelled
    assert leaders(up, "moving") == [1]

    run(up, Tool.REASSIGN_PARTITIONS, "--execute", *by_plan)
    wait_until(lambda: leaders(up, "moving") == [2], timeout_s=SECONDS_MAX, what="the partition is on node 2")
    verified = run(up, Tool.REASSIGN_PARTITIONS, "--verify", *by_plan)
    assert "Reassignment of partition moving-0 is completed." in verified
    assert "Clearing topic-level throttles" in verified
    assert "No partition reassignments found." in run(up, Tool.REASSIGN_PARTITIONS, "--list")


def test_what_is_missing_while_a_node_is_down(up: Up) -> None:
    """And who leads when it is back, once somebody asks for it."""
    os.kill(int((up.folder / "node-3" / "pid").read_text()), signal.SIGTERM)
    wait_until(lambda: leaders(up, "alone") == [-1], timeout_s=SECONDS_MAX, what="nobody leads what was only there")
    assert partitions(up, "--unavailable-partitions") == {"alone-0"}
    assert partitions(up, "--under-replicated-partitions") == {"everywhere-0", "everywhere-1", "demanding-0", "alone-0"}
    assert partitions(up, "--under-min-isr-partitions") == {"demanding-0", "alone-0"}
    assert partitions(up, "--at-min-isr-partitions") == {"everywhere-0", "everywhere-1", "moving-0"}
    with subprocess.Popen(command("node", "--config", up.folder / "node-3" / "server.properties")) as third:
        try:
            wait_until(lambda: leaders(up, "alone") == [3], timeout_s=SECONDS_MAX, what="node 3 is back")
            assert leaders(up, "demanding") != [3]
            wait_until(lambda: in_sync(up, "demanding") == 3, timeout_s=SECONDS_MAX, what="node 3 is in sync")
            elected = ("--election-type", "preferred", "--topic", "demanding", "--partition", "0")
            assert "Successfully completed leader election" in run(up, Tool.LEADER_ELECTION, *elected)
            assert leaders(up, "demanding") == [3]
        finally:
            third.terminate()


def partitions(up: Up, which: str) -> set[str]:
    described = run(up, Tool.TOPICS, "--describe", which)
    return {f"{topic}-{index}" for topic, index in re.findall(r"Topic: (\S+)\s+Partition: (\d+)", described)}
