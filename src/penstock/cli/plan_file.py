"""A plan of moves in a file, as Kafka's own tool reads and writes it."""

from __future__ import annotations

import json
from typing import Any, Final

from penstock.cli.talk import Refused
from penstock.client.metadata import TopicPartition

_EXAMPLE: Final = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'
INT32_MAX: Final = (1 << 31) - 1
Plan = dict[TopicPartition, tuple[int, ...]]


def read_plan(path: str) -> Plan:
    """The replicas of each partition that the file names."""
    found: Plan = {}
    try:
        for entry in _entries(_content(path)):
            where, replicas = _move(entry)
            if where in found:
                raise ValueError(f"{where} is there twice")
            found[where] = replicas
    except ValueError as failure:
        raise Refused(f"{path} is not a plan: {failure}", f"a plan looks like {_EXAMPLE}") from None
    return found


def _content(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as source:
            return json.load(source)
    except OSError as failure:
        raise Refused(f"cannot read {path}: {failure.strerror}", "name a file with --file") from None
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None


def _entries(content: Any) -> list[Any]:
    entries = content.get("partitions") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise ValueError('it is no object with a list called "partitions"')
    return entries


def _move(entry: Any) -> tuple[TopicPartition, tuple[int, ...]]:
    if not isinstance(entry, dict) or not isinstance(entry.get("topic"), str):
        raise ValueError(f"{_beginning(entry)} names no topic")
    topic: str = entry["topic"]
    number: Any = entry.get("partition")
    replicas: Any = entry.get("replicas")
    if not _is_number(number):
        raise ValueError(f"{topic} has no partition {_beginning(number)}: partitions are numbers")
    where = TopicPartition(topic, number)
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise ValueError(f"the replicas of {where} are brokers' numbers, such as [1, 2], not {_beginning(replicas)}")
    if len(set(replicas)) != len(replicas):
        raise ValueError(f"{where} has a broker twice")
    return where, tuple(replicas)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INT32_MAX


def _beginning(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
