"""From where to where `penstock consume` reads: topics and partitions, and the offsets that begin and end them."""

import re
from collections.abc import Iterable
from datetime import datetime

import typer

from penstock.cli.arguments import timestamp_ms
from penstock.cli.cluster_picture import names_text, own_last
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, LATEST, NO_OFFSET, list_offsets

Offsets = dict[TopicPartition, int]
# A leader that has gone is replaced in less, where somebody can replace it.
LEADER_SECONDS_MAX = 3.0


def chosen_topics(client: Client, named: Iterable[str], pattern: str | None) -> list[str]:
    """The topics that are named, and those whose whole name a pattern describes."""
    names = list(dict.fromkeys(named))
    if pattern is None:
        return names
    try:
        described = re.compile(pattern)
    except re.error as failure:
        raise typer.BadParameter(
            f"{pattern!r} is no regular expression: {failure}; orders.* is one", param_hint="--pattern"
        ) from None
    found = [topic.name for topic in client.topics() if not topic.is_internal and described.fullmatch(topic.name)]
    if not found:
        raise Refused(f"no topic's name is described by {pattern!r}", "see `penstock topic list`")
    return list(dict.fromkeys([*names, *found]))


def chosen_partitions(client: Client, topic: str, numbers: list[int] | None) -> list[TopicPartition]:
    """All partitions of a topic, or those that were asked for."""
    known = client.topic(topic)
    count = len(known.partitions)
    for number in numbers or ():
        if not 0 <= number < count:
            raise Refused(f"topic {topic} has no partition {number}", known.numbers)
    return [TopicPartition(topic, number) for number in numbers or range(count)]


def led(client: Client, places: list[TopicPartition], without: str = "is read from") -> list[TopicPartition]:
    """Those that somebody leads, or will in a moment; the others are named, and nothing is read from them."""
    found: list[TopicPartition] = []
    failures: dict[TopicPartition, ClientError] = {}
    with client.within(min(client.timeout, LEADER_SECONDS_MAX)):
        for where in places:
            try:
                client.leader(where)
            except ClientError as failure:
                if not failure.is_absence:
                    raise
                failures[where] = failure
            else:
                found.append(where)
    if failures and not found:
        raise next(iter(failures.values()))
    if failures:
        missing = sorted(failures, key=own_last)
        say(f"penstock: nobody leads {names_text(missing)}: nothing {without} there")
    return found


def ends_now(client: Client, places: list[TopicPartition], isolation: int) -> Offsets:
    latest = list_offsets(client, dict.fromkeys(places, LATEST), isolation)
    return {where: found.offset for where, found in latest.items()}


def beginnings(client: Client, places: list[TopicPartition], ends: Offsets, from_: str) -> Offsets:
    """The offset at which each partition is begun."""
    if from_ == "latest":
        return ends
    firsts = {where: found.offset for where, found in list_offsets(client, dict.fromkeys(places, EARLIEST)).items()}
    if from_ == "earliest":
        return firsts
    if from_.isdecimal():
        return _from_offset(int(from_), places, firsts, ends)
    return {where: max(firsts[where], offset) for where, offset in _at(client, ends, from_, "--from").items()}


def limits(client: Client, ends: Offsets, to: str | None, follow: bool) -> Offsets | None:
    """The first offset of each partition that is not read; None where reading never ends."""
    if follow:
        if to is None:
            return None
        if not to.isdecimal():
            raise typer.BadParameter("with --follow it is an offset, which may come later", param_hint="--to")
        return dict.fromkeys(ends, int(to))
    if to is None or to == "end":
        return ends
    if to.isdecimal():
        return {where: min(int(to), end) for where, end in ends.items()}
    return _at(client, ends, to, "--to")


def _at(client: Client, ends: Offsets, text: str, option: str) -> Offsets:
    """So many records before the end, or the first offset that is not older than a moment."""
    if text.startswith("-") and text[1:].isdecimal():
        return {where: end - int(text[1:]) for where, end in ends.items()}
    moment = timestamp_ms(text, datetime.now())
    if moment is None:
        words = "earliest, latest" if option == "--from" else "end"
        raise typer.BadParameter(f"{text!r} is neither {words}, an offset nor a time", param_hint=option)
    found = list_offsets(client, dict.fromkeys(ends, moment))
    return {where: end if found[where].offset == NO_OFFSET else found[where].offset for where, end in ends.items()}


def _from_offset(offset: int, places: list[TopicPartition], firsts: Offsets, ends: Offsets) -> Offsets:
    """The same offset in each partition; one that exists in none of them is a mistake."""
    if not any(firsts[where] <= offset <= ends[where] for where in places):
        spans = ", ".join(f"{where.partition}: {_span(firsts[where], ends[where])}" for where in places)
        raise Refused(f"offset {offset} does not exist", f"offsets by partition: {spans}")
    return {where: min(max(offset, firsts[where]), ends[where]) for where in places}


def _span(first: int, end: int) -> str:
    return f"{first} to {end - 1}" if end > first else "none"
