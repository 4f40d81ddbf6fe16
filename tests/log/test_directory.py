"""A data folder: its checkpoints in Kafka's formats, partitions that come and go, ten thousand of them at rest."""

from __future__ import annotations

import tracemalloc
from base64 import urlsafe_b64encode
from random import Random

import pytest

from penstock.core.log.log import Log
from penstock.core.log.partition_file import decode_topic_id, encode_topic_id
from tests.log.helpers import (
    NOW_MS,
    SMALL,
    TOPIC_ID,
    append,
    batch_of,
    context_of,
    fill,
    load,
    new_log,
    records_of,
    reopen,
)
from tests.log.memory_files import Crashed, MemoryFiles, drive


def test_checkpoints_have_kafkas_format() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 3, SMALL, NOW_MS))
    fill(log, 20)
    drive(files, log.delete_records(2))
    drive(files, log.flush())
    log.cleaned_offset = 7
    drive(files, directory.checkpoint({("orders", 3): 19}))
    assert files.content("/data/recovery-point-offset-checkpoint") == b"0\n1\norders 3 20\n"
    assert files.content("/data/log-start-offset-checkpoint") == b"0\n1\norders 3 2\n"
    assert files.content("/data/cleaner-offset-checkpoint") == b"0\n1\norders 3 7\n"
    assert files.content("/data/replication-offset-checkpoint") == b"0\n1\norders 3 19\n"
    again = load(files)
    assert again.high_watermarks == {("orders", 3): 19}
    assert again.logs["orders", 3].cleaned_offset == 7
    before = files.operations
    drive(files, again.checkpoint())
    assert files.operations == before


def test_partition_metadata_has_kafkas_format() -> None:
    files = MemoryFiles()
    new_log(files)
    content = files.content("/data/orders-0/partition.metadata")
    assert content == b"version: 0\ntopic_id: " + urlsafe_b64encode(TOPIC_ID).rstrip(b"=")
    assert reopen(files).topic_id == TOPIC_ID


@pytest.mark.parametrize(
    "data", [None, b"", b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", b"version: 0\ntopic_id: A", b"\xff"]
)
def test_torn_partition_metadata_is_no_id(data: bytes | None) -> None:
    assert decode_topic_id(data) is None
    assert decode_topic_id(encode_topic_id(TOPIC_ID)) == TOPIC_ID


def test_a_removed_log_leaves_nothing() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
    fill(log, 40)
    drive(files, directory.remove(log))
    assert files.paths() == []
    assert "/data/orders-0" not in files.disk.folders
    fresh = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    append(fresh, batch_of(b"0."))
    assert [record.offset for record in records_of(files, fresh)] == [0]


def test_removing_waits_for_what_is_under_way() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
    files.delay = Random(3)
    fill(log, 40)
    drive(files, directory.remove(log))
    assert not [path for path in files.paths() if "orders-0/" in path]


def test_a_process_may_die_at_any_operation_of_removing() -> None:
    count = 0
    while True:
        files = MemoryFiles()
        directory = load(files)
        log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
        fill(log, 20)
        files.operations_left = count
        try:
            drive(files, directory.remove(log))
            break
        except Crashed:
            files.operations_left = None
        survivors = load(MemoryFiles(files.disk)).logs
        if survivors:
            found = records_of(MemoryFiles(files.disk), survivors["orders", 0])
            assert [record.offset for record in found] == list(range(20))
        else:
            assert not files.paths()
        count += 1
    assert count > 8


def test_a_partition_at_rest_costs_little() -> None:
    context = context_of(MemoryFiles())
    count = 500
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        logs = [Log(f"topic-{n}", 0, f"/data/topic-{n}-0", SMALL, context, NOW_MS) for n in range(count)]
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(logs) == count
    assert used / count <= 3000
