"""Vote (52). Version 1 names the voter, 2 can ask for a pre-vote (KIP-996)."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.vote import VoteRequest

API = Api(VoteRequest, range(3), BY_QUORUM, CLUSTER_ACTION)
