"""`penstock node` as a version before this one would be: it neither offers nor reads what the newest level of the
metadata has brought. Run it in place of `penstock.cli.main`."""

from __future__ import annotations

import sys

from penstock.core.metadata import features, framing
from penstock.core.metadata.levels import version_at
from penstock.core.wire.schema import StoredRecord

LEVEL = 29
"""Before level 30 there were no registrations of version 4."""


def grow_older() -> None:
    """Before anything else is imported: who imports a name keeps what it stood for."""
    features.METADATA_LEVEL = LEVEL
    features.BOOTSTRAP_FEATURES[features.METADATA_VERSION] = LEVEL
    features.SUPPORTED_FEATURES[features.METADATA_VERSION] = (features.METADATA_LEVEL_MIN, LEVEL)
    newest = framing.decode_record

    def decode_record(value: bytes) -> StoredRecord:
        record = newest(value)
        if value[2] > version_at(type(record), LEVEL):
            raise framing.UnknownMetadata(f"{type(record).__name__} version {value[2]} came too early")
        return record

    framing.decode_record = decode_record


if __name__ == "__main__":
    grow_older()
    from penstock.cli.main import main

    sys.exit(main())
