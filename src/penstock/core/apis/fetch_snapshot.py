"""FetchSnapshot (59). Version 1 names the replica's directory."""

from __future__ import annotations

from penstock.core.apis.places import BY_QUORUM
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotRequest

API = Api(FetchSnapshotRequest, range(2), BY_QUORUM, CLUSTER_ACTION)
