"""What the shell may offer for a name: topics, groups, transactional ids, if the cluster answers quickly."""

import os

from penstock.cli.session import DEFAULT_BOOTSTRAP, connect
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.transactions import Transactions

COMPLETION_SECONDS_MAX = 0.5


def topics(incomplete: str) -> list[str]:
    """Names of topics that begin like this."""
    try:
        with _client() as client:
            return [topic.name for topic in client.topics() if topic.name.startswith(incomplete)]
    except ClientError:
        return []


def groups(incomplete: str) -> list[str]:
    """Names of groups that begin like this."""
    try:
        with _client() as client:
            return [group.group_id for group in Groups(client).list() if group.group_id.startswith(incomplete)]
    except ClientError:
        return []


def transactions(incomplete: str) -> list[str]:
    """Transactional ids that begin like this."""
    try:
        with _client() as client:
            names = [each.transactional_id for each in Transactions(client).list()]
            return [name for name in names if name.startswith(incomplete)]
    except ClientError:
        return []


def _client() -> Client:
    bootstrap = os.environ.get("PENSTOCK_BOOTSTRAP", DEFAULT_BOOTSTRAP)
    return connect(bootstrap, COMPLETION_SECONDS_MAX)
