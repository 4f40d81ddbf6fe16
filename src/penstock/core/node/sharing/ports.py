"""What sharing needs of the node around it."""

from __future__ import annotations

from typing import Protocol

from penstock.core.node.fetching.ports import FetchHost
from penstock.core.node.storage.letters import LetterHost


class SharingHost(FetchHost, LetterHost, Protocol):
    """The node that leads partitions which share groups read."""
