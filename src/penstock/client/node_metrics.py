"""What nodes tell of themselves over HTTP: where, and the numbers. Kafka's brokers have no such door."""

from __future__ import annotations

import re
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from penstock.client.admin import BROKER, Admin
from penstock.client.blocking import SOON_SECONDS, Client
from penstock.client.errors import ClientError
from penstock.client.quorum import Registered

HOST: Final = "penstock.metrics.host"
PORT: Final = "penstock.metrics.port"
TLS: Final = "penstock.metrics.tls"
USER: Final = "penstock.metrics.user"
CLOCK: Final = "penstock_time_seconds"
EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})
READ_SECONDS_MAX: Final = 2.0
BYTES_MAX: Final = 16 << 20
_LINE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = tuple[tuple[str, str], ...]


class Told(NamedTuple):
    """One answer: when it came, and the numbers by name and labels."""

    at: float
    numbers: Mapping[str, Mapping[Labels, float]]

    def sum(self, name: str) -> float | None:
        """Over all labels; None where it is not told."""
        found = self.numbers.get(name)
        return None if found is None else sum(found.values())

    def plain(self, name: str) -> float | None:
        """Of the line without labels."""
        return self.numbers.get(name, {}).get(())

    def by(self, name: str, label: str) -> dict[str, float]:
        """Sums by one label; lines without it are left out."""
        found: defaultdict[str, float] = defaultdict(float)
        for labels, value in self.numbers.get(name, {}).items():
            for key, text in labels:
                if key == label:
                    found[text] += value
        return dict(found)


def metrics_url(client: Client, broker: Registered) -> str | None:
    """Where a node tells its metrics to everybody; None where it does not, or asks who wants to know."""
    try:
        with client.within(SOON_SECONDS):
            found = Admin(client).describe_configs(BROKER, str(broker.node_id), [HOST, PORT, TLS, USER])
    except ClientError as failure:
        if not failure.is_absence:
            raise
        return None
    settings = {each.name: each.value or "" for each in found}
    if int(settings.get(PORT) or -1) <= 0 or settings.get(USER) or settings.get(TLS) == "true":
        return None
    host = broker.host if settings[HOST] in EVERYWHERE else settings[HOST]
    return f"http://{f'[{host}]' if ':' in host else host}:{settings[PORT]}/metrics"


def read_metrics(url: str) -> Told | None:
    """None where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=READ_SECONDS_MAX) as answer:
            text = answer.read(BYTES_MAX).decode()
    except (OSError, ValueError):
        return None
    return Told(time.monotonic(), parse_metrics(text.splitlines()))


def parse_metrics(lines: Iterable[str]) -> dict[str, dict[Labels, float]]:
    """Prometheus' text format."""
    found: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
    for line in lines:
        if (match := _LINE.fullmatch(line)) is not None:
            found[match[1]][tuple(_labels(match[2] or ""))] = float(match[3])
    return dict(found)


def _labels(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _LABEL.findall(text):
        yield name, re.sub(r"\\(.)", lambda escaped: "\n" if escaped[1] == "n" else str(escaped[1]), value)


def clocks_ms(client: Client, brokers: Iterable[Registered]) -> dict[str, int]:
    """By how much the clocks of nodes are ahead of ours, where that can be read."""
    found = {}
    for broker in brokers:
        url = None if broker.is_fenced else metrics_url(client, broker)
        before = time.time()
        told = None if url is None else read_metrics(url)
        clock = None if told is None else told.plain(CLOCK)
        if clock is not None:
            found[f"broker {broker.node_id}"] = ahead_ms(clock, before, time.time())
    return found


def ahead_ms(clock: float, before: float, after: float) -> int:
    """By how much a clock is ahead that was read at some moment between two of ours; 0 where that explains it."""
    return int(1000 * (max(clock - after, 0) or min(clock - before, 0)))
