"""BeginQuorumEpoch (53). Version 1 tells where the leader listens."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest

API = Api(BeginQuorumEpochRequest, range(2), BY_QUORUM, CLUSTER_ACTION)
