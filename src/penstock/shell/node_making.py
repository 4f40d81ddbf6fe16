"""The node of this process: with the system's dice, its boot, a place outside of the disk, and what reads payloads."""

from __future__ import annotations

from penstock.core.apis.table import make_node
from penstock.core.base.ports import Files, Network
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.node import Node
from penstock.core.node.observing.event_log import Tell
from penstock.schemas.payloads.making import make_check
from penstock.shell.boot import boot_id
from penstock.shell.entropy import SystemEntropy
from penstock.shell.event_lines import FORMATS, printing
from penstock.shell.runtime import runtime_note


def make_real_node(settings: BrokerSettings, files: Files, network: Network, tell: Tell | None) -> Node:
    """Its events are printed where nobody else wants to hear them."""
    tell = tell or printing(settings["node.id"], FORMATS[settings["penstock.log.format"]])
    node = make_node(settings, files, SystemEntropy(), tell, network, make_check)
    node.boot_id = boot_id(settings.log_dir)
    node.runtime_note = runtime_note(settings.log_dir)
    return node
