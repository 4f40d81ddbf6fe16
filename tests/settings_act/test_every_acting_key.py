"""Every setting that promises to act is changed, wherever it can be given, and the difference is seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from penstock.core.base.settings import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS, Key, Standing, parse_value
from penstock.core.base.settings.key import FIXED_BY_SOCKETS, Dynamic
from tests.settings_act.group_overrides_table import OF_SINGLE_GROUPS as GROUP
from tests.settings_act.table import BROKER, TOPIC
from tests.settings_act.trial import Flip, Place, Trial

# Of these the default is no value to start a test with: there is none, or it names a port that may be taken.
WITHOUT_DEFAULT = {"node.id", "broker.id", "process.roles", "controller.listener.names", "listeners"}
# And of these it is Kerberos.
WITHOUT_DEFAULT |= {
    *("sasl.enabled.mechanisms", "sasl.mechanism.controller.protocol", "sasl.mechanism.inter.broker.protocol")
}

# Where eligible leaders are kept in the metadata, this is a number of the cluster and not of a broker.
OF_ALL_BROKERS = {"min.insync.replicas"}


# These are between the controller and the metadata: in a broker's file they say nothing.
WHILE_RUNNING = {"auto.balance.pending", "penstock.drained"}


# `make test` tries the others too; what brings a value to its place is the same for many of them.
FIRST_PLACES = {Place.FILE, Place.NEW_TOPIC, Place.GROUP}


def acting(keys: Mapping[str, Key]) -> set[str]:
    return {name for name, key in keys.items() if key.standing is Standing.ACTS}


def cases() -> Iterator[tuple[str, Place, Flip]]:
    for name, flip in BROKER.items():
        if name not in WHILE_RUNNING:
            yield name, Place.FILE, flip
        if BROKER_KEYS[name].dynamic is not Dynamic.READ_ONLY and name not in FIXED_BY_SOCKETS:
            if BROKER_KEYS[name].dynamic is not Dynamic.PER_BROKER:
                yield name, Place.ALL_BROKERS, flip
            if name not in OF_ALL_BROKERS:
                yield name, Place.ONE_BROKER, flip
    for name, flip in TOPIC.items():
        yield name, Place.NEW_TOPIC, flip
        yield name, Place.TOPIC, flip
    for name, flip in GROUP.items():
        yield name, Place.GROUP, flip


CASES = [
    pytest.param(*case, id=f"{case[0]} {case[1].value}", marks=[] if case[1] in FIRST_PLACES else [pytest.mark.slow])
    for case in cases()
]


def test_every_acting_setting_has_a_check_and_nothing_else_has() -> None:
    assert BROKER.keys() == acting(BROKER_KEYS)
    assert TOPIC.keys() == acting(TOPIC_KEYS)
    assert GROUP.keys() == acting(GROUP_KEYS)


@pytest.mark.parametrize(
    ("keys", "flips"),
    [(BROKER_KEYS, BROKER), (TOPIC_KEYS, TOPIC), (GROUP_KEYS, GROUP)],
    ids=["broker", "topic", "group"],
)
def test_each_check_compares_the_default_with_another_value(keys: Mapping[str, Key], flips: Mapping[str, Flip]) -> None:
    for name in flips.keys() - WITHOUT_DEFAULT:
        key, (text, seen), (other_text, other_seen) = keys[name], flips[name].default, flips[name].other
        assert text != other_text, name
        assert seen != other_seen, name
        assert (None if text is None else parse_value(key, text)) == key.default, name


@pytest.mark.parametrize(("name", "place", "flip"), CASES)
def test_a_setting_makes_its_difference(name: str, place: Place, flip: Flip) -> None:
    for value, expected in (flip.default, flip.other):
        assert flip.observe(Trial(name, value, place)) == expected, f"with {name}={value}"
