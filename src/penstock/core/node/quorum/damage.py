"""Metadata that is not what was written, where no crash explains that."""

from __future__ import annotations

from penstock.core.log.names import METADATA_DIR
from penstock.core.metadata.storage import StorageError


class MetadataDamage(StorageError):
    """`what` says where: the file, the position in it, and what is lost."""

    def __init__(self, what: str, *, is_election_lost: bool = False) -> None:
        self.what = what
        self.is_election_lost = is_election_lost
        super().__init__(
            f"the metadata is damaged in {what}; nothing was changed: restore the folder from a backup, or accept the "
            f"loss of all that follows with `penstock storage repair {METADATA_DIR}`"
        )
