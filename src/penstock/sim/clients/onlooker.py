"""An onlooker: asks again and again where partitions end, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from penstock.sim.clients.client import Client
from penstock.sim.clients.consumer import LATEST, Fetcher
from penstock.sim.events import EndSeen, Partition
from penstock.sim.scheduler import MS
from penstock.sim.script import Script, Sleep

LOOKS_US_MAX: Final = 1_500 * MS


def look_on(
    client: Client, fetcher: Fetcher, partitions: Sequence[Partition], is_over: Callable[[], bool]
) -> Script[None]:
    """Look until it is over, and tell what was seen."""
    while not is_over():
        partition = client.chance.pick(partitions)
        end = yield from fetcher.find_offset(partition, LATEST)
        if end is not None:
            client.world.witness.see(EndSeen(client.name, partition, end))
        yield Sleep(client.chance.skewed(1 * MS, LOOKS_US_MAX))
    client.disconnect()
