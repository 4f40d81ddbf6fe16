"""What to look at of a node that keeps an audit trail."""

from __future__ import annotations

from penstock.core.metadata.image import TOPIC_RESOURCE
from penstock.core.node.membership.internal_topics import AUDIT_TOPIC
from tests.settings_act.trial import Trial


def keeps_changes(trial: Trial) -> bool:
    world = trial.begin()
    world.create("changed")
    world.pass_time(3_000)
    return world.node.image.topic(AUDIT_TOPIC) is not None


def bytes_kept(trial: Trial) -> str | None:
    world = trial.begin({"penstock.audit.enable": "true"})
    world.create("changed")
    world.pass_time(3_000)
    return world.node.image.config(TOPIC_RESOURCE, AUDIT_TOPIC).get("retention.bytes")
