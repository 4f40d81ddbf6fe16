"""AlterPartition (56), for controllers. Version 3 comes with the epochs of the in-sync brokers."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller
from penstock.core.node.slots import Api
from penstock.core.wire.api.alter_partition import AlterPartitionRequest

API = Api(AlterPartitionRequest, range(2, 4), ask_controller)
