"""EndQuorumEpoch (54). Version 1 names successors by their directories, and where the leader listens."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_quorum
from penstock.core.node.slots import Api
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest

API = Api(EndQuorumEpochRequest, range(2), ask_quorum)
