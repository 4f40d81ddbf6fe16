"""FetchSnapshot (59). Version 1 names the replica's directory."""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_quorum
from penstock.core.node.slots import Api
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotRequest

API = Api(FetchSnapshotRequest, range(2), ask_quorum)
