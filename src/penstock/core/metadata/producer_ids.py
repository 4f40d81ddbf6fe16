"""AllocateProducerIds: blocks of ids that no two brokers ever hand out both."""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import check_epoch
from penstock.core.metadata.image import Image
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ProducerIdsRecord

PRODUCER_IDS_PER_BLOCK = 1000
PRODUCER_ID_MAX = 2**63 - 1


def plan_producer_ids(
    image: Image, request: AllocateProducerIdsRequest
) -> tuple[list[StoredRecord], AllocateProducerIdsResponse]:
    """Decide about an AllocateProducerIds request."""
    check_epoch(image.brokers, request.broker_id, request.broker_epoch)
    start = image.next_producer_id
    if start > PRODUCER_ID_MAX - PRODUCER_IDS_PER_BLOCK:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids have been given away.")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + PRODUCER_IDS_PER_BLOCK,
    )
    return [record], AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=PRODUCER_IDS_PER_BLOCK)
