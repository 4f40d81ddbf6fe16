"""What a sample of the newest records tells: keys that come too often, careless producers, clocks of producers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.client.checkup.facts import Facts
from penstock.client.checkup.finding import Finding, Severity
from penstock.core.base.shown import shown

HOT_SHARE_MIN: Final = 0.3
SAMPLE_MIN: Final = 200
KEY_LENGTH_MAX: Final = 40
AHEAD_MS_MAX: Final = 60_000
"""Retention counts from a record's own time: one from the future stays for longer."""
CLOCKS_MS_MAX: Final = 2_000


def hot_keys(facts: Facts) -> Iterator[Finding]:
    """In a topic of one partition it does no harm."""
    for topic in facts.topics:
        sample = facts.samples.get(topic.name)
        if sample is None or sample.records < SAMPLE_MIN or len(topic.partitions) < 2 or not sample.keys:
            continue
        key, count = max(sample.keys.items(), key=lambda pair: pair[1])
        if count >= HOT_SHARE_MIN * sample.records:
            text = shown(key.decode(errors="backslashreplace"))[:KEY_LENGTH_MAX]
            evidence = f"the key {text!r} has {count} of the newest {sample.records} records"
            fix = f"penstock consume {topic.name} --from -1000 --to end --format '{{key}}' | sort | uniq -c"
            yield Finding(Severity.WARNING, "hot-key", f"topic {topic.name}", evidence, fix)


def careless_producers(facts: Facts) -> Iterator[Finding]:
    for name, sample in facts.samples.items():
        if sample.careless_batches:
            share = f"{sample.careless_batches} of its newest {sample.batches} batches"
            evidence = f"{share} came without a producer id: what is sent twice is there twice"
            fix = f"penstock produce {name} --property enable.idempotence=true  # and so in the producer's own settings"
            yield Finding(Severity.WARNING, "no-idempotence", f"topic {name}", evidence, fix)


def clocks(facts: Facts) -> Iterator[Finding]:
    for who, ahead_ms in facts.clocks_ms.items():
        if abs(ahead_ms) > CLOCKS_MS_MAX:
            where = "ahead of" if ahead_ms > 0 else "behind"
            evidence = f"its clock is {abs(ahead_ms) / 1000:.1f} s {where} the one here"
            yield Finding(Severity.WARNING, "clock", who, evidence, "timedatectl set-ntp true")
    for name, sample in facts.samples.items():
        if sample.newest_ms > facts.now_ms + AHEAD_MS_MAX:
            seconds = (sample.newest_ms - facts.now_ms) / 1000
            evidence = f"a record is {seconds:.0f} s from the future: a producer's clock is wrong, and retention waits"
            fix = f"penstock topic alter {name} --config message.timestamp.after.max.ms=3600000"
            yield Finding(Severity.WARNING, "clock", f"topic {name}", evidence, fix)
