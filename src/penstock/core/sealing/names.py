"""Which files are sealed: whatever holds batches, of partitions and of the metadata, at whatever stage.

Indexes, producer snapshots and checkpoints hold offsets, times and ids of producers, and names of topics, which are
names of folders as well.
"""

from __future__ import annotations

import re
from typing import Final

_SEALED: Final = re.compile(r".*\.(?:log|checkpoint)(?:\.[^/]*)?")


def holds_records(path: str) -> bool:
    return _SEALED.fullmatch(path.rpartition("/")[2]) is not None
