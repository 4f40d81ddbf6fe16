"""UpdateRaftVoter (82). One version."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_quorum
from penstock.core.node.slots import Api
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterRequest

API = Api(UpdateRaftVoterRequest, range(1), ask_quorum)
