"""UpdateRaftVoter (82). One version."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterRequest

API = Api(UpdateRaftVoterRequest, range(1), BY_QUORUM, CLUSTER_ACTION)
