"""The election state on the disk: Kafka's file, never half of one, and never forgotten."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.metadata.storage import StorageError
from penstock.core.node.quorum import state_file
from penstock.core.raft.election import ElectionState
from penstock.core.raft.ids import ReplicaKey
from tests.log.memory_files import Disk, MemoryFiles, drive

DIRECTORY = bytes(range(16))


@pytest.mark.parametrize(
    "state",
    [
        ElectionState(),
        ElectionState(7),
        ElectionState(7, 3),
        ElectionState(7, None, ReplicaKey(2, DIRECTORY)),
        ElectionState(7, 2, ReplicaKey(2, DIRECTORY)),
    ],
)
def test_what_was_written_is_read(state: ElectionState) -> None:
    assert state_file.decode(state_file.encode(state)) == state


def test_the_file_is_kafkas() -> None:
    state = ElectionState(2, None, ReplicaKey(1, DIRECTORY))
    assert state_file.encode(state) == (
        b'{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"AAECAwQFBgcICQoLDA0ODw","data_version":1}'
    )


def test_the_older_version_is_read() -> None:
    older = (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}'
    )
    assert state_file.decode(older) == ElectionState(2, 1)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"data_version":1,"leaderId":1}', b'{"data_version":2}'])
def test_a_file_that_cannot_be_read_is_no_vote_to_give_again(data: bytes) -> None:
    with pytest.raises(StorageError, match="quorum-state"):
        state_file.decode(data)


def test_a_vote_survives_power_loss_once_it_is_written() -> None:
    disk = Disk()
    files = MemoryFiles(disk)
    disk.folders.add("/q")
    disk.synced_folders.add("/q")
    for epoch in (1, 2):
        drive(files, state_file.write("/q", ElectionState(epoch)))
    disk.lose_power(Random(1))
    assert drive(MemoryFiles(disk), state_file.read("/q")) == ElectionState(2)
    assert drive(MemoryFiles(disk), state_file.read("/elsewhere")) is None
