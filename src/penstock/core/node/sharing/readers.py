"""Who reads at a node: fetchers, and members of share groups."""

from __future__ import annotations

from penstock.core.node.fetching.fetching import Fetching
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.node.sharing.sharing import Sharing


def readers_of(node: SharingHost) -> tuple[Fetching, Sharing]:
    return Fetching(node), Sharing(node)
