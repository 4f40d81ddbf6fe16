"""What a controller writes before anything else: into an empty log the levels of the cluster's features, and after a
controller that died in the middle of a metadata transaction the end of it."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.feature_updates import min_insync_of_cluster
from penstock.core.metadata.features import BOOTSTRAP_FEATURES, METADATA_VERSION
from penstock.core.metadata.image import Image
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import AbortTransactionRecord, FeatureLevelRecord


def opening_records(
    image: Image, settings: BrokerSettings, bootstrap: Iterable[StoredRecord] = ()
) -> list[StoredRecord]:
    """The records with which a term begins, as Kafka 4.3 begins one. `bootstrap` are those that the folder was
    formatted with."""
    records: list[StoredRecord] = []
    if image.unfinished is not None:
        records.append(AbortTransactionRecord(reason="Controller failover"))
    if METADATA_VERSION not in image.features:
        records += [
            FeatureLevelRecord(name=name, feature_level=level) for name, level in BOOTSTRAP_FEATURES.items() if level
        ]
        records += bootstrap
        # Who is an eligible leader depends on this number, so all controllers must find the same one in the log.
        records += min_insync_of_cluster(image, settings)
    return records
