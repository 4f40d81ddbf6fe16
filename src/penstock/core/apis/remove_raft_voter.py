"""RemoveRaftVoter (81). One version."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM_LEADER
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest

API = Api(RemoveRaftVoterRequest, range(1), BY_QUORUM_LEADER, on_cluster(Operation.ALTER))
