"""AddRaftVoter (80). Version 1 can be answered before the change is committed."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM_LEADER
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest

API = Api(AddRaftVoterRequest, range(2), BY_QUORUM_LEADER, on_cluster(Operation.ALTER))
