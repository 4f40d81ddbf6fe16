"""ReadShareGroupStateSummary (87). Versions 0 and 1: 1 says how many records are done.

How far a share group is in a partition, for whoever describes its offsets.
"""

from __future__ import annotations

from penstock.core.apis.asking_share_state import share_state_api
from penstock.core.wire.api.read_share_group_state_summary import ReadShareGroupStateSummaryRequest

API = share_state_api(ReadShareGroupStateSummaryRequest, range(2))
