"""A process that runs out of descriptors: whoever wants one more waits or is refused, and nothing counts as broken."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import File
from penstock.shell import descriptors, full_sync
from penstock.shell.descriptors import Descriptors, connections_allowed, files_allowed
from tests.node.test_acks import outcome
from tests.node.world import produce
from tests.shell.hosting import Peer, hosted, run

LIMIT = 200


@contextmanager
def limited(files: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("limit", [64, 256, 1024, 2048])
def test_files_connections_and_the_reserve_share_what_there_is(limit: int) -> None:
    with limited(limit):
        files = files_allowed(16384)
        left = limit - files - connections_allowed(files)
        assert left >= min(limit // 4, descriptors.DESCRIPTORS_RESERVED_MAX)


def test_a_file_of_our_own_makes_room(tmp_path: Path) -> None:
    kept = Descriptors(1000)
    files = [File(str(tmp_path / str(number))) for number in range(3)]
    for file in files[:2]:
        kept.open(file, create=True)
    lowest = os.open("/dev/null", os.O_RDONLY)
    os.close(lowest)
    with limited(lowest):
        kept.open(files[2], create=True)
    assert [file.fd >= 0 for file in files] == [False, True, True]
    kept.close_all()


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EINTR, errno.EMFILE])
def test_a_sync_that_has_begun_is_not_one_to_try_again(number: int) -> None:
    def fail(fd: int) -> None:
        raise OSError(number, "it failed")

    with pytest.raises(OSError, match="it failed") as raised:
        full_sync.sync_descriptor(0, fail)
    assert raised.value.errno == errno.EIO


def open_all(address: tuple[str, int]) -> list[socket.socket]:
    found = []
    with suppress(OSError):
        while len(found) < 2 * LIMIT:
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(address)
            found.append(sock)
    return found


def test_clients_cannot_take_all_descriptors(tmp_path: Path) -> None:
    async def test() -> None:
        with limited(LIMIT):
            async with hosted(tmp_path) as host:
                good = await Peer.connect(host)
                await good.create("t")
                allowed = host.node.admission.connections_allowed
                assert allowed is not None
                assert allowed < LIMIT // 2
                with limited(4 * LIMIT):
                    hostile = open_all(host.addresses[0])
                    while host.node.metrics.connections_refused == 0:
                        await asyncio.sleep(0)
                    assert len(host.node.connections) <= allowed
                for _ in range(10):
                    assert outcome(await good.ask(produce("t", b"a"), 9))[0] == ErrorCode.NONE
                for sock in hostile:
                    sock.close()
                good.close()

    run(test)


Opening = Callable[..., int]


def test_who_finds_no_descriptor_waits_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush, a checkpoint, the making of a topic: all of it goes on when there is a descriptor."""
    refused: list[str] = []
    honest: Opening = os.open

    def refuse(path: str, *arguments: int) -> int:
        if str(path).startswith(str(tmp_path)) and len(refused) < 30:
            refused.append(str(path))
            raise OSError(errno.EMFILE, "too many open files")
        return honest(path, *arguments)

    async def test() -> None:
        async with hosted(tmp_path, {"log.flush.interval.messages": "1"}) as host:
            peer = await Peer.connect(host)
            await peer.create("t")
            with monkeypatch.context() as patches:
                patches.setattr(os, "open", refuse)
                await peer.create("u", partitions=3)
                answer = outcome(await peer.ask(produce("t", b"a"), 9))
            assert refused
            assert answer[0] in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
            assert outcome(await peer.ask(produce("t", b"b"), 9))[0] == ErrorCode.NONE
            assert host.node.state == "running"
            assert not host.node.lineage.is_doubtful
            assert all(partition.log.failure is None for partition in host.node.replicas)
            peer.close()

    run(test)
