"""RemoveRaftVoter (81). One version."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_leader
from penstock.core.node.slots import Api
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest

API = Api(RemoveRaftVoterRequest, range(1), ask_leader)
