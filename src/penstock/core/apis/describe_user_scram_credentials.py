"""DescribeUserScramCredentials (50). Version 0: mechanisms and iterations; nobody is told keys."""

from __future__ import annotations

from penstock.core.metadata.scram import described
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_user_scram_credentials import DescribeUserScramCredentialsRequest


def handle(node: Node, request: DescribeUserScramCredentialsRequest, slot: Slot) -> Answer:
    slot.connection.charge(len(node.image.access.credentials))
    return described(node.image, [each.name for each in request.users or ()])


API = Api(DescribeUserScramCredentialsRequest, range(1), handle, on_cluster(Operation.DESCRIBE))
