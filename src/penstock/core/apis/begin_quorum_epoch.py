"""BeginQuorumEpoch (53). Version 1 tells where the leader listens."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_quorum
from penstock.core.node.slots import Api
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest

API = Api(BeginQuorumEpochRequest, range(2), ask_quorum)
