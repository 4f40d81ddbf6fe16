"""AlterPartitionReassignments (45). Version 1 can forbid that the number of replicas changes."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller, forwarded
from penstock.core.node.slots import Api
from penstock.core.wire.api.alter_partition_reassignments import AlterPartitionReassignmentsRequest

API = Api(AlterPartitionReassignmentsRequest, range(2), forwarded(ask_controller))
