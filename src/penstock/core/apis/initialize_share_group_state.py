"""InitializeShareGroupState (83). Version 0.

A group coordinator sets up what a share group will read, or sets it to another offset.
"""

from __future__ import annotations

from penstock.core.apis.asking_share_state import share_state_api
from penstock.core.wire.api.initialize_share_group_state import InitializeShareGroupStateRequest

API = share_state_api(InitializeShareGroupStateRequest, range(1))
