"""`quorum-state`: the election state on the disk, one line of JSON as Kafka writes it."""

from __future__ import annotations

import json
from typing import Final

from penstock.core.base.ports import Steps
from penstock.core.log.checkpoints import read_file, replace
from penstock.core.log.durable import sync_folder
from penstock.core.metadata.storage import StorageError, uuid_bytes, uuid_text
from penstock.core.node.quorum.damage import MetadataDamage
from penstock.core.raft.election import ElectionState
from penstock.core.raft.ids import NOBODY, ReplicaKey
from penstock.core.wire.fields import ZERO_UUID

FILE: Final = "quorum-state"

_VERSIONS: Final = (0, 1)


def encode(state: ElectionState) -> bytes:
    voted = state.voted or ReplicaKey(NOBODY)
    fields = {
        "leaderId": NOBODY if state.leader_id is None else state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": voted.id,
        "votedDirectoryId": uuid_text(voted.directory_id),
        "data_version": _VERSIONS[-1],
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(data: bytes) -> ElectionState:
    """Who forgot a vote could give it twice, so a file that cannot be read is no reason to begin anew."""
    try:
        fields = json.loads(data)
        if fields["data_version"] not in _VERSIONS:
            raise StorageError(f"{FILE} has version {fields['data_version']}; start the newer Penstock that wrote it")
        leader_id, voted_id = int(fields["leaderId"]), int(fields["votedId"])
        directory_id = uuid_bytes(fields["votedDirectoryId"]) if "votedDirectoryId" in fields else ZERO_UUID
        voted = None if voted_id < 0 else ReplicaKey(voted_id, directory_id)
        return ElectionState(int(fields["leaderEpoch"]), None if leader_id < 0 else leader_id, voted)
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataDamage(f"{FILE}, which holds this node's vote ({error!r})", is_election_lost=True) from None


def read(folder: str) -> Steps[ElectionState | None]:
    """What was saved last; None where nothing was."""
    data = yield from read_file(f"{folder}/{FILE}")
    return None if data is None else decode(data)


def write(folder: str, state: ElectionState) -> Steps[None]:
    """Save it for good: when this ends, no power loss takes it back."""
    yield from replace(f"{folder}/{FILE}", encode(state))
    yield from sync_folder(folder)
