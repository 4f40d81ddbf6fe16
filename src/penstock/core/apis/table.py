"""The table of APIs: what this node advertises and serves is exactly what has a file here."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import penstock.core.apis as apis_package
from penstock.core.base.ports import Entropy, Files, Network
from penstock.core.base.settings import BrokerSettings
from penstock.core.node import lifecycle
from penstock.core.node.node import Node
from penstock.core.node.observing.event_log import Tell
from penstock.core.node.serving.api import Api
from penstock.core.records.schema_ids import MakeCheck
from penstock.core.wire.api_table import APIS


def load_apis(with_unstable: bool = False) -> dict[int, Api[Node]]:
    """An API is served if there is a file with its name; `with_unstable` in versions, too, that are not final."""
    return {api.key: api if with_unstable else api.in_final_versions() for api in _written_apis()}


@cache
def _written_apis() -> tuple[Api[Node], ...]:
    """Looked for once: a simulated world starts many nodes in one process."""
    written = {each.name for each in iter_modules(apis_package.__path__)}
    modules = [facts.module for facts in APIS.values() if facts.module in written]
    return tuple(import_module(f"{apis_package.__name__}.{name}").API for name in modules)


def make_node(
    settings: BrokerSettings,
    files: Files,
    entropy: Entropy,
    tell: Tell = lambda fact: None,
    network: Network | None = None,
    make_check: MakeCheck | None = None,
) -> Node:
    """A node that serves every API in the table. Without a network it can ask nobody, and stands alone; `make_check`
    reads payloads by schemas."""
    apis = load_apis(settings["unstable.api.versions.enable"])
    node = Node(settings, files, entropy, apis, lifecycle, tell, network)
    node.make_check = make_check
    return node
