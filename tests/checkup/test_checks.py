"""Each illness is planted in the facts of a healthy cluster, and found; nothing else is."""

from __future__ import annotations

import pytest

from penstock.client.checkup.checks import diagnose
from penstock.client.checkup.facts import Facts, GroupLook
from penstock.client.checkup.finding import Severity
from penstock.client.metadata import TopicPartition
from tests.checkup.healthy import BROKERS, FACTS, HEALTH, LOOKS, MB, NOW_MS, SAMPLE, disk, settings, topic

WHERE = (TopicPartition("orders", 1),)


def with_settings(**own: str) -> Facts:
    return FACTS._replace(settings={"orders": settings(**own)})


def with_sample(**changed: object) -> Facts:
    return FACTS._replace(samples={"orders": SAMPLE._replace(**changed)})


def with_looks(*looks: GroupLook) -> Facts:
    return FACTS._replace(groups={"billing": looks})


def led_by_one() -> Facts:
    one = topic(partitions=9)
    led = tuple(each._replace(leader=1 if each.number < 7 else each.leader) for each in one.partitions)
    return FACTS._replace(topics=[one._replace(partitions=led)])


ILL = {
    "no controller": (FACTS._replace(health=HEALTH._replace(controller=None)), "no-controller", "nothing can be"),
    "fenced": (FACTS._replace(health=HEALTH._replace(fenced=(2,))), "fenced", "not let in"),
    "voter": (FACTS._replace(health=HEALTH._replace(voters_behind=(2,))), "voter-behind", "metadata"),
    "offline": (FACTS._replace(health=HEALTH._replace(offline=WHERE)), "offline", "nobody leads orders-1"),
    "behind": (FACTS._replace(health=HEALTH._replace(under_replicated=WHERE)), "under-replicated", "orders-1"),
    "refusing": (
        FACTS._replace(health=HEALTH._replace(under_replicated=WHERE, under_min=WHERE)),
        "under-replicated",
        "acks=all is refused by orders-1",
    ),
    "listener": (FACTS._replace(unreachable={3: "refused"}), "listener", "advertises host-3:9092"),
    "disk": (FACTS._replace(log_dirs=[disk(1, 0.85)]), "disk", "/data is 85% full"),
    "disk refuses": (
        FACTS._replace(log_dirs=[disk(1)], health=HEALTH._replace(full=(1,))),
        "disk",
        "refuses producers",
    ),
    "in sync": (with_settings(min_insync_replicas="4"), "settings", "there are 3 copies: acks=all is always refused"),
    "in sync all": (with_settings(min_insync_replicas="3"), "settings", "while any broker is away"),
    "retention": (with_settings(retention_ms="1000"), "settings", "retention.ms=1000 is less than segment.ms"),
    "size": (with_settings(retention_bytes="1000"), "settings", "retention.bytes=1000 is less than segment.bytes"),
    "compaction": (
        with_settings(cleanup_policy="compact", max_compaction_lag_ms="1", min_compaction_lag_ms="2"),
        "settings",
        "min.compaction.lag.ms=2",
    ),
    "unclean": (with_settings(unclean_leader_election_enable="true"), "settings", "may lead"),
    "copies": (FACTS._replace(topics=[topic(replicas=(1,), partitions=1)], settings={}), "one-copy", "one copy on 3"),
    "skew": (FACTS._replace(log_dirs=[disk(1, 0.5, (5 * MB, *[MB] * 5))]), "skew", "partition 0 has 5242880 bytes"),
    "leaders": (led_by_one(), "uneven-leaders", "broker 1 leads 7 partitions, another one 1"),
    "many": (FACTS._replace(topics=[topic(partitions=4200)]), "many-partitions", "has 4200 replicas"),
    "empty": (
        FACTS._replace(topics=[topic(partitions=60)], log_dirs=[disk(1, 0.5, (0,) * 60)]),
        "many-partitions",
        "has 60 partitions and no records",
    ),
    "hot key": (with_sample(keys={b"ann": 400, b"b": 9}), "hot-key", "'ann' has 400 of the newest 1000"),
    "careless": (with_sample(careless_batches=3), "no-idempotence", "3 of its newest 20 batches"),
    "producer's clock": (with_sample(newest_ms=NOW_MS + 3_600_000), "clock", "3600 s from the future"),
    "node's clock": (FACTS._replace(clocks_ms={"broker 2": -5000}), "clock", "5.0 s behind the one here"),
    "lag": (
        with_looks(LOOKS[0]._replace(lag=5_000), LOOKS[0]._replace(lag=6_000, committed=150)),
        "lag",
        "its lag grew from 5000 to 6000 with 1 members: it read 50 records",
    ),
    "rebalancing": (
        with_looks(*[look._replace(state="PreparingRebalance") for look in LOOKS]),
        "rebalances",
        "at 4 of 4 looks",
    ),
    "coming and going": (
        with_looks(*[look._replace(members=frozenset({str(n)})) for n, look in enumerate(LOOKS)]),
        "rebalances",
        "at 3 of 4 looks",
    ),
}


def test_of_a_healthy_cluster_nothing_is_said() -> None:
    assert diagnose(FACTS) == []


@pytest.mark.parametrize("name", ILL)
def test_an_illness_is_found_and_nothing_else(name: str) -> None:
    facts, check, evidence = ILL[name]
    found = diagnose(facts)
    assert {each.check for each in found} == {check}
    assert evidence in found[0].evidence
    assert found[0].fix


@pytest.mark.parametrize(
    "facts",
    [
        with_settings(cleanup_policy="compact", retention_ms="1000"),
        with_settings(retention_bytes=str(2 << 30)),
        with_sample(records=100, keys={b"ann": 100}),
        with_looks(LOOKS[0]._replace(lag=900), LOOKS[0]._replace(lag=999)),
        with_looks(LOOKS[0]._replace(lag=9_000), LOOKS[0]._replace(lag=8_000)),
        with_looks(LOOKS[0], LOOKS[0]._replace(lag=None)),
        with_looks(LOOKS[0]._replace(state="PreparingRebalance"), *LOOKS),
        FACTS._replace(log_dirs=[disk(1, 0.5, (900_000, *[1] * 5))]),
        FACTS._replace(log_dirs=[disk(1)._replace(total_bytes=-1, usable_bytes=-1)]),
        FACTS._replace(topics=[topic(replicas=(1,))], brokers=FACTS.brokers[:1], settings={}),
    ],
)
def test_what_is_only_nearly_ill_is_not_named(facts: Facts) -> None:
    assert diagnose(facts) == []


def test_the_worst_comes_first() -> None:
    facts = with_sample(careless_batches=1)._replace(unreachable={BROKERS[0]: "refused"})
    assert [each.severity for each in diagnose(facts)] == [Severity.CRITICAL, Severity.WARNING]
