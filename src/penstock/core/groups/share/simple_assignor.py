"""Kafka's `simple` assignor: every partition is read by as many members as each other, as far as that goes out.

With fewer members than partitions each partition has one reader; with more, some have several. Members keep what they
have where that is not more than their part. Where all read the same, all their topics are shared at once, else each
topic by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.groups.share.member import Partitions

Place = tuple[bytes, int]
"""A partition of a topic, by its id."""
Shares = dict[str, set[Place]]


def assign(
    subscriptions: Mapping[str, frozenset[bytes]], partitions: Partitions, before: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    """`partitions` are those that may be given out, `before` the target until now."""
    found: Shares = {member: set() for member in subscriptions}
    for topics, members in _alike(subscriptions):
        places = [(topic, each) for topic in topics for each in sorted(partitions.get(topic, ()))]
        had = {member: _places(before.get(member, {})) for member in members}
        for member, places_of_member in share_out(places, members, had).items():
            found[member] |= places_of_member
    return {member: _by_topic(places) for member, places in found.items()}


def _alike(subscriptions: Mapping[str, frozenset[bytes]]) -> list[tuple[list[bytes], list[str]]]:
    """What is shared at once, and among whom."""
    members = sorted(subscriptions)
    if len(set(subscriptions.values())) == 1:
        return [(sorted(subscriptions[members[0]]), members)]
    topics = sorted(frozenset().union(*subscriptions.values()))
    return [([topic], [each for each in members if topic in subscriptions[each]]) for topic in topics]


def share_out(places: Sequence[Place], members: Sequence[str], before: Mapping[str, set[Place]]) -> Shares:
    if not places or not members:
        return {}
    readers_each = -(-len(members) // len(places))
    part, more = divmod(readers_each * len(places), len(members))
    wanted = set(places)
    # One more for those who have most already.
    by_size = sorted(members, key=lambda member: -len(before.get(member, set()) & wanted))
    room = {member: part + (number < more) for number, member in enumerate(by_size)}
    shares: Shares = {member: set() for member in members}
    missing = dict.fromkeys(places, readers_each)
    for member in members:
        for place in sorted(before.get(member, ())):
            if room[member] and missing.get(place):
                _give(place, member, shares, room, missing)
    _fill(members, shares, room, missing)
    return shares


def _fill(members: Sequence[str], shares: Shares, room: dict[str, int], missing: dict[Place, int]) -> None:
    """In a circle of those who have room. A partition that all of them have already is left with fewer readers, as in
    Kafka: somebody reads it."""
    circle = [member for member in members if room[member]]
    at = 0
    for place in missing:
        passed = 0
        while missing[place] and passed < len(circle):
            at %= len(circle)
            member = circle[at]
            if place in shares[member]:
                at, passed = at + 1, passed + 1
                continue
            _give(place, member, shares, room, missing)
            if room[member]:
                at, passed = at + 1, passed + 1
            else:
                del circle[at]


def _give(place: Place, member: str, shares: Shares, room: dict[str, int], missing: dict[Place, int]) -> None:
    shares[member].add(place)
    room[member] -= 1
    missing[place] -= 1


def _places(partitions: Partitions) -> set[Place]:
    return {(topic, each) for topic, numbers in partitions.items() for each in numbers}


def _by_topic(places: set[Place]) -> Partitions:
    found: dict[bytes, set[int]] = {}
    for topic, each in places:
        found.setdefault(topic, set()).add(each)
    return {topic: frozenset(numbers) for topic, numbers in found.items()}
