"""LeaveGroup (13). Versions 0 to 5: members go; from 3 many at once, static ones by their instance."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.node.serving.access import Operation, on_groups
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.leave_group import LeaveGroupRequest

API = Api(LeaveGroupRequest, range(6), by_coordinator(ask), on_groups(Operation.READ, "group_id"))
