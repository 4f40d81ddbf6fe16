"""AddRaftVoter (80). Version 1 can be answered before the change is committed."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_leader
from penstock.core.node.slots import Api
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest

API = Api(AddRaftVoterRequest, range(2), ask_leader)
