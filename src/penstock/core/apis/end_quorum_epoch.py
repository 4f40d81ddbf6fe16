"""EndQuorumEpoch (54). Version 1 names successors by their directories, and where the leader listens."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest

API = Api(EndQuorumEpochRequest, range(2), BY_QUORUM, CLUSTER_ACTION)
