"""What a cluster tells of itself: who is in it, what leads what, groups, transactions. Names, numbers, no records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from penstock.cli.debugging.bundle import Part
from penstock.cli.debugging.redacting import HIDDEN, is_harmless
from penstock.client.admin import BROKER, TOPIC, Admin, Setting
from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.moving import Mover
from penstock.client.quorum import known_quorum, registered_brokers
from penstock.client.transactions import Transactions

TOPICS_MAX: Final = 1_000
GROUPS_MAX: Final = 500
"""Those of which each is asked about; of the others there are names."""


def parts(client: Client) -> Iterator[Part]:
    admin = Admin(client)
    for name, what, read in (
        ("brokers", "who is registered, and who is fenced", lambda: registered_brokers(client)),
        ("quorum", "the controllers, and how far behind they are", lambda: known_quorum(client)),
        ("features", "levels of formats and protocols", admin.features),
        ("topics", "partitions, leaders, replicas in sync", lambda: _topics(client)),
        ("topic-settings", "what was set for topics", lambda: _topic_settings(client, admin)),
        ("broker-settings", "all settings in force; secrets are hidden", lambda: _broker_settings(client, admin)),
        ("folders", "bytes of each partition on each broker", lambda: _folders(admin)),
        ("moves", "replicas that are on their way", lambda: Mover(client).under_way()),
        ("groups", "states, members and what is committed", lambda: _groups(client)),
        ("transactions", "of each the state and its producer", lambda: Transactions(client).known()),
    ):
        yield Part(f"cluster/{name}.json", what, _as_text(read))


def _as_text(read: Callable[[], Any]) -> Callable[[], str]:
    return lambda: json.dumps(_plain(read()), indent=1, default=str) + "\n"


def _plain(value: Any) -> Any:
    """Tuples with names as objects, and keys as texts."""
    if hasattr(value, "_asdict"):
        return {key: _plain(each) for key, each in value._asdict().items()}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _topics(client: Client) -> Any:
    return {each.name: each.partitions for each in client.topics()}


def _topic_settings(client: Client, admin: Admin) -> Any:
    names = (each.name for each in client.topics())
    return {name: _shown(admin.describe_configs(TOPIC, name), "topic") for name in islice(names, TOPICS_MAX)}


def _broker_settings(client: Client, admin: Admin) -> Any:
    client.retry(lambda: client.refresh(()))
    return {str(node): _shown(admin.describe_configs(BROKER, str(node))) for node in sorted(client.cluster.brokers)}


def _shown(settings: list[Setting], source: str | None = None) -> Any:
    """By name; of what is sensitive, or not known here, not even what it was set to."""
    wanted = [each for each in settings if source in (None, each.source)]
    is_topic = source is not None
    return {
        each.name: each.value if not each.is_sensitive and (is_topic or is_harmless(each.name)) else HIDDEN
        for each in wanted
    }


def _folders(admin: Admin) -> Any:
    return [{**each._asdict(), "sizes": dict(each.sizes)} for each in admin.known_log_dirs()]


def _groups(client: Client) -> Any:
    groups = Groups(client)
    listed, silent = groups.known()
    found: dict[str, Any] = {"brokers that did not answer": silent.brokers}
    for number, each in enumerate(listed):
        state = {"state": each.group_state, "type": each.group_type, "protocol": each.protocol_type}
        found[each.group_id] = {**state, **(_group(groups, each.group_id) if number < GROUPS_MAX else {})}
    return found


def _group(groups: Groups, name: str) -> dict[str, Any]:
    try:
        return {"group": groups.describe(name), "committed": groups.offsets(name)}
    except Exception as failure:  # One group that cannot be asked keeps nobody from asking about the others.
        return {"not got": str(failure)}
