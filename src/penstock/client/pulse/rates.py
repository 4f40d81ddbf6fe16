"""What changed between two looks, per second: pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf
from typing import Final, NamedTuple

from penstock.client.metadata import NO_NODE
from penstock.client.node_metrics import Told
from penstock.client.pulse.look import Look

TRAFFIC: Final = "kafka_server_brokertopicmetrics"
BYTES_IN, BYTES_OUT = f"{TRAFFIC}_bytesin_total", f"{TRAFFIC}_bytesout_total"
MESSAGES_IN: Final = f"{TRAFFIC}_messagesin_total"
REQUESTS: Final = "penstock_request_duration_seconds_count"
BUCKETS: Final = "penstock_request_duration_seconds_bucket"
BUSY: Final = "penstock_loop_busy_seconds_total"
CONNECTIONS: Final = "penstock_connections"
CLIENT: Final = "penstock_client"
SHARE: Final = 0.99


class BrokerPulse(NamedTuple):
    """A node; None where it does not tell."""

    broker: int
    address: str
    state: str
    bytes_in: float | None
    bytes_out: float | None
    records_in: float | None
    requests: float | None
    connections: int | None
    busy: float | None
    """The share of its time."""
    produce_p99_ms: float | None


class TopicPulse(NamedTuple):
    topic: str
    partitions: int
    records_in: float
    bytes_in: float | None
    bytes_out: float | None


class GroupPulse(NamedTuple):
    group: str
    state: str
    lag: int
    lag_change: float
    read: float


class ClientPulse(NamedTuple):
    client: str
    connections: int
    bytes_in: float
    bytes_out: float


class Pulse(NamedTuple):
    """The busiest first in each list, but brokers in their order."""

    cluster_id: str
    controller: int | None
    partitions: int
    leaderless: int
    under_replicated: int
    brokers: list[BrokerPulse]
    topics: list[TopicPulse]
    groups: list[GroupPulse]
    clients: list[ClientPulse]


def pulse_of(before: Look, after: Look) -> Pulse:
    partitions = [each for topic in after.topics for each in topic.partitions]
    return Pulse(
        after.cluster_id,
        None if after.controller == NO_NODE else after.controller,
        len(partitions),
        sum(each.leader == NO_NODE for each in partitions),
        sum(len(each.in_sync) < len(each.replicas) for each in partitions),
        _brokers(before, after),
        _topics(before, after),
        _groups(before, after),
        _clients(before, after),
    )


def _rate(before: float | None, after: float | None, seconds: float) -> float | None:
    """A count that has gone back began anew."""
    if before is None or after is None or seconds <= 0:
        return None
    return (after - before if after >= before else after) / seconds


def _brokers(before: Look, after: Look) -> list[BrokerPulse]:
    found = []
    for broker in after.brokers:
        old, new = before.told.get(broker.node_id), after.told.get(broker.node_id)
        state = "away" if broker.is_fenced else "up"
        found.append(BrokerPulse(broker.node_id, broker.address, state, *_node(old, new)))
    return found


_Node = tuple[float | None, float | None, float | None, float | None, int | None, float | None, float | None]


def _node(old: Told | None, new: Told | None) -> _Node:
    if old is None or new is None:
        return (None,) * 7
    seconds = new.at - old.at
    traffic = [_rate(old.plain(name), new.plain(name), seconds) for name in (BYTES_IN, BYTES_OUT, MESSAGES_IN)]
    requests = _rate(old.sum(REQUESTS), new.sum(REQUESTS), seconds)
    connections = new.plain(CONNECTIONS)
    busy = _rate(old.plain(BUSY), new.plain(BUSY), seconds)
    count = None if connections is None else int(connections)
    share = None if busy is None else min(busy, 1.0)
    return traffic[0], traffic[1], traffic[2], requests, count, share, _p99_ms(old, new, "Produce")


def _p99_ms(old: Told, new: Told, api: str) -> float | None:
    """The bound of the bucket that the slowest hundredth begins in; None where nobody asked."""
    counts: defaultdict[float, float] = defaultdict(float)
    for sign, told in ((-1, old), (1, new)):
        for labels, count in told.numbers.get(BUCKETS, {}).items():
            named = dict(labels)
            if named.get("api") == api:
                counts[float(named["le"])] += sign * count
    total = counts.get(inf, 0)
    if total <= 0:
        return None
    bounds = [bound for bound in sorted(counts) if counts[bound] >= SHARE * total]
    slowest = max(bound for bound in counts if bound < inf) if bounds[0] == inf else bounds[0]
    return slowest * 1000


def _topics(before: Look, after: Look) -> list[TopicPulse]:
    seconds = after.at - before.at
    found = []
    for topic in after.topics:
        if topic.is_internal or topic.name not in after.ends:
            continue
        end = after.ends[topic.name]
        records = _rate(before.ends.get(topic.name, end), end, seconds) or 0.0
        sent = [_over_nodes(before, after, name, topic.name) for name in (BYTES_IN, BYTES_OUT)]
        found.append(TopicPulse(topic.name, len(topic.partitions), records, *sent))
    return sorted(found, key=lambda each: (-(each.bytes_in or 0) - (each.bytes_out or 0), -each.records_in, each.topic))


def _over_nodes(before: Look, after: Look, name: str, topic: str) -> float | None:
    rates = []
    for node, new in after.told.items():
        if (old := before.told.get(node)) is not None:
            earlier, later = (told.by(name, "topic").get(topic, 0) for told in (old, new))
            rates.append(_rate(earlier, later, new.at - old.at) or 0)
    return sum(rates) if rates else None


def _groups(before: Look, after: Look) -> list[GroupPulse]:
    seconds = max(after.at - before.at, 1e-9)
    found = []
    for name, mark in after.groups.items():
        old = before.groups.get(name, mark)
        change = (mark.lag - old.lag) / seconds
        found.append(GroupPulse(name, mark.state, mark.lag, change, max(mark.committed - old.committed, 0) / seconds))
    return sorted(found, key=lambda each: (-each.lag, -each.read, each.group))


def _clients(before: Look, after: Look) -> list[ClientPulse]:
    """What the sockets of each carried, over all nodes."""
    connections = _by_client(after.told.values(), f"{CLIENT}_connections")
    rates: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for node, new in after.told.items():
        old = before.told.get(node)
        for index, name in enumerate((f"{CLIENT}_received_bytes", f"{CLIENT}_sent_bytes")):
            earlier = {} if old is None else old.by(name, "client_id")
            for client, count in new.by(name, "client_id").items():
                since = 0 if old is None else new.at - old.at
                rates[client][index] += _rate(earlier.get(client, 0), count, since) or 0.0
    found = [ClientPulse(name, int(count), *rates[name]) for name, count in connections.items()]
    return sorted(found, key=lambda each: (-each.bytes_in - each.bytes_out, each.client))


def _by_client(told: Iterable[Told], name: str) -> Mapping[str, float]:
    counts: defaultdict[str, float] = defaultdict(float)
    for each in told:
        for client, count in each.by(name, "client_id").items():
            counts[client] += count
    return counts
