"""How a cluster whose voters are kept in the log begins: with a node alone, and with folders that were formatted."""

from __future__ import annotations

import pytest

from penstock.core.base.endpoints import Endpoint
from penstock.core.metadata.storage import Meta, encode_meta, uuid_text
from penstock.core.node.quorum.identity import is_founder
from penstock.core.raft.checkpoint import founding_snapshot
from penstock.core.raft.ids import TOPIC, ReplicaKey
from penstock.core.raft.voters import Voter, VoterSet
from tests.log.memory_files import Disk, Inode
from tests.node.world import NOW_MS, World
from tests.settings.minimal import settings

SERVERS = "controller.quorum.bootstrap.servers"
FIRST = "00000000000000000000-0000000000.checkpoint"
OWN = {SERVERS: "localhost:9093"}


def snapshots(world: World, folder: str = "/data") -> list[str]:
    return [path for path in world.files.paths() if path == f"{folder}/{TOPIC}-0/{FIRST}"]


def voter(directory: int) -> Voter:
    return Voter(ReplicaKey(1, bytes([directory]) * 16), (Endpoint("CONTROLLER", "127.0.0.1", 9093),), (0, 1))


def formatted(directory: int, metadata: tuple[str, int] | None = None) -> Disk:
    """A disk with the folder of node 1, and perhaps one of its own for the metadata."""
    disk = Disk()
    folders = {"/data": directory} | ({} if metadata is None else dict([metadata]))
    for folder, number in folders.items():
        disk.folders.add(folder)
        meta = Meta(1, uuid_text(bytes(16)), 1, uuid_text(bytes([number]) * 16))
        disk.names[f"{folder}/meta.properties"] = Inode(encode_meta(meta))
    return disk


def found(disk: Disk, folder: str, voters: VoterSet) -> Disk:
    disk.folders.add(f"{folder}/{TOPIC}-0")
    disk.names[f"{folder}/{TOPIC}-0/{FIRST}"] = Inode(founding_snapshot(voters, NOW_MS))
    return disk


def test_a_node_that_may_get_company_keeps_its_voters_in_the_log() -> None:
    world = World(OWN)
    assert snapshots(world)
    assert world.node.quorum.kraft_version == 1
    assert world.node.quorum.voter_ids == {1}
    world.create("t")
    world.restart()
    assert world.node.image.topic("t") is not None
    assert world.node.quorum.kraft_version == 1


def test_a_node_that_stands_alone_for_good_has_none_in_the_log() -> None:
    world = World()
    assert not snapshots(world)
    assert world.node.quorum.kraft_version == 0


def test_a_folder_of_before_goes_on_as_it_was() -> None:
    """It was formatted when such a node kept its voters in the settings."""
    world = World(OWN, formatted(1))
    assert world.node.quorum.leads
    assert world.node.quorum.kraft_version == 0


def test_a_founding_that_was_interrupted_begins_anew() -> None:
    disk = found(Disk(), "/data", VoterSet([voter(2)]))
    disk.folders.add("/data")
    world = World(OWN, disk)
    assert world.node.quorum.leads
    assert world.node.quorum.kraft_version == 1


def test_a_metadata_log_without_an_owner_is_nobodys_to_take() -> None:
    disk = found(Disk(), "/data", VoterSet([voter(2)]))
    disk.folders.add("/data")
    disk.names[f"/data/{TOPIC}-0/00000000000000000000.log"] = Inode(b"")
    world = World(OWN, disk, start=False)
    world.start()
    assert world.node.state == "failed"
    assert "no meta.properties" in (world.node.failure or "")


def test_a_voter_is_known_by_the_folder_of_the_metadata() -> None:
    disk = found(formatted(1, ("/meta", 2)), "/meta", VoterSet([voter(2)]))
    world = World({**OWN, "metadata.log.dir": "/meta"}, disk)
    assert world.node.quorum.leads
    world.restart(clean=False)
    assert world.node.quorum.leads


def test_a_node_whose_directory_is_not_the_voters_does_not_lead_alone() -> None:
    """Its disk was replaced, and nobody can say what it had promised."""
    world = World(OWN, found(formatted(3), "/data", VoterSet([voter(2)])), start=False)
    world.start()
    assert world.node.state == "starting"
    assert not world.node.quorum.leads


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({SERVERS: "a:9093,b:9093"}, "--no-initial-controllers"),
        ({"process.roles": "broker", "listeners": "PLAINTEXT://:9092", SERVERS: "a:9093"}, "penstock cluster info"),
        ({"controller.quorum.voters": "1@a:1,2@b:1"}, "on each of them"),
    ],
)
def test_a_folder_that_nobody_has_formatted_says_how(given: dict[str, str], hint: str) -> None:
    world = World(given, start=False)
    world.start()
    assert world.node.state == "failed"
    assert "penstock storage format --cluster-id ID" in (world.node.failure or "")
    assert hint in (world.node.failure or "")


@pytest.mark.parametrize(
    ("changes", "founds"),
    [
        ({"controller_quorum_voters": ""}, True),
        ({"controller_quorum_voters": "", "controller_quorum_bootstrap_servers": "localhost:9093"}, True),
        ({"controller_quorum_voters": "", "controller_quorum_bootstrap_servers": "127.0.0.1:9093"}, True),
        ({"controller_quorum_voters": "", "controller_quorum_bootstrap_servers": "localhost:9094"}, False),
        ({"controller_quorum_voters": "", "controller_quorum_bootstrap_servers": "elsewhere:9093"}, False),
        ({"controller_quorum_voters": "", "controller_quorum_bootstrap_servers": "localhost:9093,b:9093"}, False),
        ({}, False),
    ],
)
def test_whoever_names_no_other_controller_may_found_a_cluster(changes: dict[str, str], founds: bool) -> None:
    assert is_founder(settings(**changes)) is founds
