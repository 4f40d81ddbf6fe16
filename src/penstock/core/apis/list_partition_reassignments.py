"""ListPartitionReassignments (46). Version 0."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller, forwarded
from penstock.core.node.slots import Api
from penstock.core.wire.api.list_partition_reassignments import ListPartitionReassignmentsRequest

API = Api(ListPartitionReassignmentsRequest, range(1), forwarded(ask_controller))
