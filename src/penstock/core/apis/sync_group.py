"""SyncGroup (14). Versions 0 to 5: the leader hands in the assignment, everyone gets a part; 3 names static members."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.node.serving.access import Operation, on_groups
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.sync_group import SyncGroupRequest

API = Api(SyncGroupRequest, range(6), by_coordinator(ask), on_groups(Operation.READ, "group_id"))
