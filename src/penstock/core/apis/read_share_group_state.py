"""ReadShareGroupState (84). Version 0.

A partition's leader that begins to serve a share group takes over what is known, and replaces the leader before it.
"""

from __future__ import annotations

from penstock.core.apis.asking_share_state import share_state_api
from penstock.core.wire.api.read_share_group_state import ReadShareGroupStateRequest

API = share_state_api(ReadShareGroupStateRequest, range(1))
