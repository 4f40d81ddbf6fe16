"""Waiting for a node to have compressed what is sealed of a partition."""

from pathlib import Path

from penstock.core.log.names import PACKED_FILE
from tests.waiting import wait_until


def wait_until_packed(folder: Path) -> None:
    """The mark is where the active segment begins."""

    def is_packed() -> bool:
        mark = folder / PACKED_FILE
        newest = max(int(path.stem) for path in folder.glob("*.log"))
        return mark.exists() and mark.read_text().split() == ["0", "1", str(newest)]

    wait_until(is_packed, timeout_s=30, what="the packing of all sealed segments")
