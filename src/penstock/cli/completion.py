"""What the shell may offer for a name: the topics or groups of the cluster, if it answers quickly."""

import os

from penstock.cli.session import DEFAULT_BOOTSTRAP
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import Groups

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


def _client() -> Client:
    bootstrap = os.environ.get("PENSTOCK_BOOTSTRAP", DEFAULT_BOOTSTRAP)
    return Client(bootstrap, client_id="penstock-completion", timeout=COMPLETION_SECONDS_MAX)
