"""What clients push of themselves (KIP-714), told under their names with underscores; and how many take part."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from penstock.core.node.node import Node
from penstock.shell.exposition.families import COUNTER, GAUGE, Family, Sample, labels, single
from penstock.shell.exposition.requests import by

_ODD: Final = re.compile(r"[^a-zA-Z0-9_]")
FAMILIES_MAX: Final = 500
"""Names of metrics; clients choose them."""
OWN: Final = ("client_id", "client_instance_id", "client_software")
"""Labels that tell clients apart; what they say of themselves does not take their place."""


def client_families(node: Node, *, is_full: bool) -> Iterator[Family]:
    telemetry = node.metrics.telemetry
    text = "Clients that take part in pushing metrics of their own."
    yield single("kafka_server_client_metrics_instance_count", GAUGE, text, len(telemetry.instances))
    yield single("penstock_client_telemetry_pushes_total", COUNTER, "What they pushed and was taken.", telemetry.pushes)
    text = "What was not, by error."
    yield Family("penstock_client_telemetry_refused_total", COUNTER, text, by("error", telemetry.refused))
    if is_full:
        yield from _pushed(node)


def _pushed(node: Node) -> Iterator[Family]:
    """A name belongs to one kind: that of whoever said it first."""
    counters: dict[str, bool] = {}
    samples: defaultdict[str, list[Sample]] = defaultdict(list)
    for instance in list(node.metrics.telemetry.instances.values()):
        facts = instance.facts
        software = f"{facts.client_software_name} {facts.client_software_version}".strip()
        own = dict(zip(OWN, (facts.client_id, facts.client_instance_id, software), strict=True))
        for (said, attributes), (value, is_counter) in instance.numbers.items():
            name = _name(said, is_counter)
            if len(counters) >= FAMILIES_MAX and name not in counters:
                continue
            if counters.setdefault(name, is_counter) == is_counter:
                more = {_ODD.sub("_", key): text for key, text in attributes}
                samples[name].append((labels(**{**_named(more), **own}), value))
    for name in sorted(counters):
        text = "Pushed by clients."
        yield Family(name, COUNTER if counters[name] else GAUGE, text, samples[name])


def _name(said: str, is_counter: bool) -> str:
    """None of theirs takes the place of one of ours."""
    name = _ODD.sub("_", said)
    name = name if name.startswith("org_apache_kafka") else f"client_{name}"
    return f"{name.removesuffix('_total')}_total" if is_counter else name


def _named(attributes: dict[str, str]) -> dict[str, str]:
    """A label begins with a letter."""
    return {key if key[:1].isalpha() else f"a_{key}": text for key, text in attributes.items()}
