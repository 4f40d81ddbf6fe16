"""What `penstock storage dump` shows of a node that has stopped: batches, records, indexes, and what they mean."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.core.records.codecs import DECOMPRESSED_BYTES_MAX
from penstock.testing import Broker
from tests.cli.running import Shell
from tests.robustness.bombs import MEGABYTE, bomb, holds_at_most

pytestmark = pytest.mark.client
LOG = f"{0:020d}.log"
# Records of long ago would be in a segment of their own.
NOW_MS = int(time.time() * 1000)
PROPERTIES = """
node.id=1
process.roles=broker,controller
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:9093
log.dirs={folder}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a node that has written a little, and stopped."""
    home = tmp_path_factory.mktemp("dump")
    with Broker(folder=home / "data") as broker:
        broker.create_topic("orders", partitions=2, retention_ms=-1)
        broker.produce("orders", "one", "two", key="k", headers={"a": "1"}, partition=0, timestamp_ms=NOW_MS)
        broker.produce("orders", b"\xff", partition=0)
        broker.produce("orders", None, key="gone", partition=1)
        with Client(broker.bootstrap) as client:
            Groups(client).commit("billing", {TopicPartition("orders", 0): 2})
    file = home / "server.properties"
    file.write_text(PROPERTIES.format(folder=home / "data"))
    return file


def dumped(shell: Shell, config: Path, *options: str, code: int = 0) -> list[dict[str, Any]]:
    result = shell("storage", "dump", "--config", config, "--output", "json", *options)
    assert result.code == code, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def test_batches(shell: Shell, config: Path) -> None:
    first, second = dumped(shell, config, "orders-0")
    assert (first["file"], first["position"], first["offset"], first["last_offset"]) == (LOG, 0, 0, 1)
    assert (first["records"], first["codec"], first["timestamp"], first["control"]) == (2, "none", NOW_MS, False)
    assert (second["position"], second["offset"], second["records"]) == (first["bytes"], 2, 1)


def test_records_as_consume_prints_them(shell: Shell, config: Path) -> None:
    one, two, bytes_only = dumped(shell, config, "orders-0", "--show", "records")
    assert one == {
        "folder": str(config.parent / "data"),
        "partition": "orders-0",
        "file": LOG,
        "offset": 0,
        "timestamp": NOW_MS,
        "key": "k",
        "value": "one",
        "headers": [{"key": "a", "value": "1"}],
    }
    assert two["value"] == "two"
    assert bytes_only["value_base64"] == "/w=="
    (tombstone,) = dumped(shell, config, "orders-1", "--show", "records")
    assert (tombstone["key"], tombstone["value"]) == ("gone", None)


def test_a_span_of_offsets_and_a_count(shell: Shell, config: Path) -> None:
    def offsets(*options: str) -> list[int]:
        return [each["offset"] for each in dumped(shell, config, "orders-0", "--show", "records", *options)]

    assert offsets("--from", "1") == [1, 2]
    assert offsets("--to", "2") == [0, 1]
    assert offsets("--from", "1", "--to", "2") == [1]
    assert offsets("-n", "1") == [0]
    assert [each["offset"] for each in dumped(shell, config, "orders-0", "--from", "1", "--to", "2")] == [0]


def test_metadata_records_are_decoded(shell: Shell, config: Path) -> None:
    found = dumped(shell, config, "__cluster_metadata-0", "--show", "records")
    (topic,) = [each["value"] for each in found if each["type"] == "TopicRecord" and each["value"]["name"] == "orders"]
    partitions = [each["value"] for each in found if each["type"] == "PartitionRecord"]
    assert [each["partition_id"] for each in partitions if each["topic_id"] == topic["topic_id"]] == [0, 1]
    assert {"resource_type": 2, "resource_name": "orders", "name": "retention.ms", "value": "-1"} in [
        each["value"] for each in found if each["type"] == "ConfigRecord"
    ]
    assert [each["value"]["leader_id"] for each in found if each["type"] == "leader_change"] == [1]


def test_committed_offsets_are_decoded(shell: Shell, config: Path) -> None:
    partitions = [path.name for path in (config.parent / "data").glob("__consumer_offsets-*")]
    found = dumped(shell, config, *partitions, "--show", "records")
    (commit,) = [each for each in found if each["type"] == "OffsetCommit"]
    assert commit["key"] == {"group": "billing", "topic": "orders", "partition": 0}
    assert commit["value"]["offset"] == 2


def test_indexes_and_what_else_is_beside(shell: Shell, config: Path) -> None:
    found = dumped(shell, config, "orders-0", "--show", "indexes")
    assert {"file": "leader-epoch-checkpoint", "kind": "epoch", "epoch": 0, "offset": 0}.items() <= found[-1].items()
    assert {each["kind"] for each in found} == {"time", "producer", "epoch"}
    assert max(each["offset"] for each in found if each["kind"] == "time") == 2


def test_lines_for_people_leave_out_what_is_as_usual(shell: Shell, config: Path) -> None:
    result = shell("storage", "dump", "orders-1", "--config", config, "--show", "records")
    (line,) = result.out.splitlines()
    assert line.startswith(f"orders-1 {LOG} offset=0 timestamp=")
    assert line.endswith("key=gone value=null")


def test_without_names_everything_is_shown(shell: Shell, config: Path) -> None:
    shown = {each["partition"] for each in dumped(shell, config)}
    assert {"orders-0", "orders-1", "__cluster_metadata-0"} <= shown


def test_a_partition_that_is_not_there(shell: Shell, config: Path) -> None:
    failed = shell("storage", "dump", "order-0", "--config", config)
    assert failed.code == 1
    assert "there is no partition order-0" in failed.err


def test_what_is_damaged_is_named_and_the_rest_is_shown(shell: Shell, config: Path) -> None:
    path = config.parent / "data" / "orders-0" / LOG
    whole = path.read_bytes()
    try:
        flipped = bytearray(whole)
        flipped[80] ^= 1
        path.write_bytes(flipped)
        first, second = dumped(shell, config, "orders-0", code=1)
        assert first["damage"] == "the checksum is wrong"
        assert "damage" not in second
        first, second = dumped(shell, config, "orders-0", "--show", "records", code=1)
        assert first["damage"] == "the checksum is wrong"
        assert second["value_base64"] == "/w=="
        path.write_bytes(whole[:-5])
        assert "left" in dumped(shell, config, "orders-0", code=1)[-1]["damage"]
    finally:
        path.write_bytes(whole)


def test_a_node_that_runs_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    with Broker(folder=tmp_path / "data"):
        file = tmp_path / "server.properties"
        file.write_text(PROPERTIES.format(folder=tmp_path / "data"))
        failed = shell("storage", "dump", "--config", file)
    assert failed.code == 1
    assert "stop it first" in failed.err


def test_a_bomb_is_named_and_not_unpacked(shell: Shell, config: Path) -> None:
    path = config.parent / "data" / "orders-1" / LOG
    whole = path.read_bytes()
    try:
        path.write_bytes(bomb())
        with holds_at_most(2 * DECOMPRESSED_BYTES_MAX + 16 * MEGABYTE):
            (only,) = dumped(shell, config, "orders-1", "--show", "records", code=1)
        assert f"the body unpacks to more than {DECOMPRESSED_BYTES_MAX} bytes" in only["damage"]
    finally:
        path.write_bytes(whole)
