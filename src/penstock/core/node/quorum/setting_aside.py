"""`penstock.rebuilding`: that this replica has lost some of its metadata, until it has everything again.

The note is on the disk before anything is touched. Then what was found is moved to a folder beside, where it stays for
whoever wants to look at it. From then on the replica begins as a new one does, but counts for nothing
(`raft.rebuilding`).
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from penstock.core.base.ports import Entry, File, ListDir, MakeDir, Rename, Steps, Unlink
from penstock.core.log.checkpoints import read_file, replace
from penstock.core.log.durable import sync_folder
from penstock.core.node.quorum import state_file
from penstock.core.node.quorum.damage import MetadataDamage
from penstock.core.raft.ids import Destination

FILE: Final = "penstock.rebuilding"
DAMAGED: Final = "-damaged."
"""Between the name of the metadata log's folder and a number: where it was moved."""

_FIRST_ID: Final = -1_000
"""Servers that are known by their address alone have numbers that no node has."""


class Loss(NamedTuple):
    """What was found damaged, where it was moved, and who the other voters are, as far as that could be read."""

    what: str
    folder: str
    is_moved: bool = False
    is_election_lost: bool = False
    servers: tuple[tuple[str, int], ...] = ()

    def destinations(self) -> tuple[Destination, ...]:
        return tuple(Destination(_FIRST_ID - number, *server) for number, server in enumerate(self.servers))


def read(folder: str) -> Steps[Loss | None]:
    """The note, or None. One that cannot be read tells that there was a loss, and nothing of it."""
    data = yield from read_file(f"{folder}/{FILE}")
    if data is None:
        return None
    try:
        noted = json.loads(data)
        servers = tuple((str(host), int(port)) for host, port in noted["servers"])
        is_moved, is_election_lost = bool(noted["isMoved"]), bool(noted["isElectionLost"])
        return Loss(str(noted["what"]), str(noted["folder"]), is_moved, is_election_lost, servers)
    except (ValueError, KeyError, TypeError):
        return Loss(f"{folder}/{FILE}", (yield from _free_name(folder)), is_election_lost=True)


def _write(folder: str, loss: Loss) -> Steps[None]:
    noted = {
        "version": 0,
        "what": loss.what,
        "folder": loss.folder,
        "isMoved": loss.is_moved,
        "isElectionLost": loss.is_election_lost,
        "servers": loss.servers,
    }
    yield from replace(f"{folder}/{FILE}", json.dumps(noted).encode())
    yield from sync_folder(folder)


def begin(
    folder: str, damage: MetadataDamage, before: Loss | None, servers: tuple[tuple[str, int], ...]
) -> Steps[Loss]:
    """Note a loss for good; one that was there before is part of it."""
    is_election_lost = damage.is_election_lost or (before is not None and before.is_election_lost)
    known = servers or (() if before is None else before.servers)
    loss = Loss(damage.what, (yield from _free_name(folder)), False, is_election_lost, known)
    yield from _write(folder, loss)
    return loss


def move(folder: str, loss: Loss, kept: frozenset[str]) -> Steps[Loss]:
    """Move everything away but what is kept. If a crash comes between, the next start goes on with it."""
    root = folder.rpartition("/")[0]
    yield MakeDir(loss.folder)
    yield from sync_folder(root)
    entries: list[Entry] = yield ListDir(folder)
    election = frozenset() if loss.is_election_lost else frozenset((state_file.FILE,))
    for entry in entries:
        if entry.name not in kept | election | {FILE} and not entry.is_dir:
            yield Rename(File(f"{folder}/{entry.name}"), f"{loss.folder}/{entry.name}")
    yield from sync_folder(loss.folder)
    moved = loss._replace(is_moved=True)
    yield from _write(folder, moved)
    return moved


def end(folder: str) -> Steps[None]:
    """Everything is here again."""
    yield Unlink(File(f"{folder}/{FILE}"))
    yield from sync_folder(folder)


def _free_name(folder: str) -> Steps[str]:
    root, _, name = folder.rpartition("/")
    entries: list[Entry] = yield ListDir(root)
    taken = {entry.name for entry in entries}
    number = 1
    while f"{name}{DAMAGED}{number}" in taken:
        number += 1
    return f"{root}/{name}{DAMAGED}{number}"
