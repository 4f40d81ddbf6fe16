"""Vote (52). Version 1 names the voter, 2 can ask for a pre-vote (KIP-996)."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_quorum
from penstock.core.node.slots import Api
from penstock.core.wire.api.vote import VoteRequest

API = Api(VoteRequest, range(3), ask_quorum)
