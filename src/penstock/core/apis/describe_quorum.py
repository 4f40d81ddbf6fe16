"""DescribeQuorum (55). Version 1 tells when replicas fetched, 2 their directories and addresses."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_leader
from penstock.core.node.slots import Api
from penstock.core.wire.api.describe_quorum import DescribeQuorumRequest

API = Api(DescribeQuorumRequest, range(3), ask_leader)
