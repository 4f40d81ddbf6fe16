"""Settings of topics that fight each other, or what the topic is there for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.client.admin import Setting
from penstock.client.checkup.facts import Facts
from penstock.client.checkup.finding import Finding, Severity
from penstock.client.metadata import TopicView

COPIES_MIN: Final = 3
TRUE: Final = "true"


def fighting_settings(facts: Facts) -> Iterator[Finding]:
    for topic in facts.topics:
        settings = facts.settings.get(topic.name)
        if settings:
            yield from _in_sync(topic, settings)
            yield from _retention(topic, settings)
            yield from _compaction(topic, settings)
            yield from _unclean(topic, settings)


def _finding(severity: Severity, topic: TopicView, evidence: str, change: str) -> Finding:
    fix = f"penstock topic alter {topic.name} --config {change}"
    return Finding(severity, "settings", f"topic {topic.name}", evidence, fix)


def _number(settings: Mapping[str, Setting], name: str) -> int:
    """-1 where it is not there, which is how Kafka says that there is no bound."""
    found = settings.get(name)
    return int(found.value) if found is not None and found.value else -1


def _is_own(settings: Mapping[str, Setting], name: str) -> bool:
    return name in settings and settings[name].source == "topic"


def _in_sync(topic: TopicView, settings: Mapping[str, Setting]) -> Iterator[Finding]:
    copies, least = _copies(topic), _number(settings, "min.insync.replicas")
    if least > copies:
        evidence = f"min.insync.replicas={least}, and there are {copies} copies: acks=all is always refused"
        yield _finding(Severity.CRITICAL, topic, evidence, f"min.insync.replicas={max(copies - 1, 1)}")
    elif least == copies > 1:
        evidence = f"min.insync.replicas={least} of {copies} copies: acks=all is refused while any broker is away"
        yield _finding(Severity.WARNING, topic, evidence, f"min.insync.replicas={copies - 1}")


def _copies(topic: TopicView) -> int:
    return max((len(each.replicas) for each in topic.partitions), default=0)


def _retention(topic: TopicView, settings: Mapping[str, Setting]) -> Iterator[Finding]:
    """A segment is deleted as a whole, when it is sealed. Defaults are the choice of whoever runs the cluster."""
    if "delete" not in (settings["cleanup.policy"].value or "" if "cleanup.policy" in settings else "delete"):
        return
    for kept, sealed in (("retention.ms", "segment.ms"), ("retention.bytes", "segment.bytes")):
        least, most = _number(settings, kept), _number(settings, sealed)
        if 0 < least < most and (_is_own(settings, kept) or _is_own(settings, sealed)):
            evidence = f"{kept}={least} is less than {sealed}={most}: records stay until their segment is sealed"
            yield _finding(Severity.WARNING, topic, evidence, f"{sealed}={least}")


def _compaction(topic: TopicView, settings: Mapping[str, Setting]) -> Iterator[Finding]:
    least, most = _number(settings, "min.compaction.lag.ms"), _number(settings, "max.compaction.lag.ms")
    if 0 < most < least:
        evidence = f"min.compaction.lag.ms={least} is more than max.compaction.lag.ms={most}"
        yield _finding(Severity.WARNING, topic, evidence, f"min.compaction.lag.ms={most}")


def _unclean(topic: TopicView, settings: Mapping[str, Setting]) -> Iterator[Finding]:
    setting = settings.get("unclean.leader.election.enable")
    if setting is not None and (setting.value or "").lower() == TRUE:
        evidence = "unclean.leader.election.enable=true: a replica that lacks acknowledged records may lead"
        yield _finding(Severity.WARNING, topic, evidence, "unclean.leader.election.enable=false")


def few_copies(facts: Facts) -> Iterator[Finding]:
    """Where there are brokers enough for three."""
    alive = [broker for broker in facts.brokers if not broker.is_fenced]
    if len(alive) < COPIES_MIN:
        return
    for topic in facts.topics:
        if topic.partitions and _copies(topic) == 1:
            fix = f"penstock cluster reassign --topic {topic.name} --replication-factor {COPIES_MIN} --execute"
            evidence = f"there is one copy on {len(alive)} brokers: what a lost disk held is gone"
            yield Finding(Severity.WARNING, "one-copy", f"topic {topic.name}", evidence, fix)
