"""How far replicas have moved, on stderr: of all that is to move, however many of them are on their way at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from penstock.cli.output import bytes_text
from penstock.cli.talk import say
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Mover
from penstock.client.quorum import registered_brokers

POLL_SECONDS: Final = 0.1
POLL_SECONDS_MAX: Final = 1.0
REPORT_SECONDS: Final = 2.0


class Progress:
    """A line on stderr that is written over where there is a terminal, and a line now and then where there is none."""

    def __init__(self, client: Client, coming: Mapping[TopicPartition, Sequence[int]]) -> None:
        """`coming` has all that is to move, and the brokers that get a copy of it."""
        self._client = client
        self._coming = coming
        self._arrived: set[TopicPartition] = set()
        self._next = time.monotonic() + REPORT_SECONDS
        self._warned: set[int] = set()
        self._is_open = False

    def wait(self, mover: Mover, places: Collection[TopicPartition]) -> None:
        """Until nothing of this part moves any more, however long that takes."""
        pause = POLL_SECONDS
        while moving := mover.under_way(places):
            self._arrived |= set(places) - moving.keys()
            self._report({where: each.adding for where, each in moving.items()})
            time.sleep(pause)
            pause = min(2 * pause, POLL_SECONDS_MAX)
        self._arrived |= set(places)
        self._end()

    def _report(self, adding: Mapping[TopicPartition, Sequence[int]]) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REPORT_SECONDS
        line = f"{len(self._arrived)} of {len(self._coming)} partitions have moved{self._copied(adding)}"
        if sys.stderr.isatty():
            print(f"\r{line:<100}", end="", file=sys.stderr, flush=True)
            self._is_open = True
        else:
            say(line)
        self._warn(adding)

    def _end(self) -> None:
        if self._is_open:
            print(file=sys.stderr, flush=True)
            self._is_open = False

    def _copied(self, adding: Mapping[TopicPartition, Sequence[int]]) -> str:
        """How much has been copied, where all brokers tell."""
        try:
            folders = Admin(self._client).log_dirs()
        except ClientError:
            return ""
        return copied_text(
            {(folder.broker, where): size for folder in folders for where, size in folder.sizes.items()},
            self._coming,
            self._arrived,
            adding,
        )

    def _warn(self, adding: Mapping[TopicPartition, Sequence[int]]) -> None:
        awaited = {broker for brokers in adding.values() for broker in brokers}
        fenced = {broker.node_id for broker in registered_brokers(self._client) if broker.is_fenced}
        for broker in sorted(awaited & fenced - self._warned):
            self._end()
            say(f"broker {broker} is not there, and copies wait for it")
            say("  start it, or go back with `penstock cluster reassign --cancel`")
            self._warned.add(broker)


def copied_text(
    held: Mapping[tuple[int, TopicPartition], int],
    coming: Mapping[TopicPartition, Sequence[int]],
    arrived: Collection[TopicPartition],
    adding: Mapping[TopicPartition, Sequence[int]],
) -> str:
    """Bytes of all copies that are to be made, given what each broker holds of each partition."""
    whole: dict[TopicPartition, int] = {}
    for (_, where), size in held.items():
        whole[where] = max(whole.get(where, 0), size)
    total = sum(whole.get(where, 0) * len(brokers) for where, brokers in coming.items())
    copied = sum(whole.get(where, 0) * len(coming[where]) for where in arrived)
    copied += sum(held.get((broker, where), 0) for where, brokers in adding.items() for broker in brokers)
    return f": {bytes_text(copied)} of {bytes_text(total)} are copied"
