"""DescribeQuorum (55). Version 1 tells when replicas fetched, 2 their directories and addresses."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM_LEADER
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.describe_quorum import DescribeQuorumRequest

API = Api(DescribeQuorumRequest, range(3), BY_QUORUM_LEADER, on_cluster(Operation.DESCRIBE))
