"""DeleteShareGroupState (86). Version 0.

A group coordinator gives up what a share group has read.
"""

from __future__ import annotations

from penstock.core.apis.asking_share_state import share_state_api
from penstock.core.wire.api.delete_share_group_state import DeleteShareGroupStateRequest

API = share_state_api(DeleteShareGroupStateRequest, range(1))
