"""WriteShareGroupState (85). Versions 0 and 1: 1 says how many records are done.

A partition's leader writes down what members of a share group have said of records.
"""

from __future__ import annotations

from penstock.core.apis.asking_share_state import share_state_api
from penstock.core.wire.api.write_share_group_state import WriteShareGroupStateRequest

API = share_state_api(WriteShareGroupStateRequest, range(2))
