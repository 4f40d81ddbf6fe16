"""What `Fetching` asks of a node that is the same for each broker of the test world."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from penstock.core.node.replication.silence import Silence
from penstock.core.node.serving.gates import OPEN

SILENT_MS_MAX = 80


class FetchHost:
    """Everybody may read everything, within these limits."""

    gates: Final = OPEN
    limits: Final = SimpleNamespace(fetch_bytes_max=1 << 20, sessions_max=100, reads_near=False)

    @staticmethod
    def new_silence() -> Silence:
        """Of a process that has heard nobody yet."""
        silence = Silence()
        silence.configure(SILENT_MS_MAX, 0)
        return silence
