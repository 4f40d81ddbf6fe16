"""Brokers that lead only where nobody else can: their disks are full, or somebody drains them for maintenance.

That a broker is drained is a setting of it in the metadata: it holds for every controller, and for each process of that
broker, until it is taken back.
"""

from __future__ import annotations

from typing import Final

from penstock.core.metadata.image import BROKER_RESOURCE, Image

DRAINED: Final = "penstock.drained"
_TRUE: Final = "true"


def is_drained(image: Image, broker_id: int) -> bool:
    return image.config(BROKER_RESOURCE, str(broker_id)).get(DRAINED) == _TRUE


def is_reluctant(image: Image, broker_id: int) -> bool:
    return image.brokers[broker_id].is_full or is_drained(image, broker_id)


def drained_brokers(image: Image) -> frozenset[int]:
    return frozenset(broker_id for broker_id in image.brokers if is_drained(image, broker_id))


def reluctant_brokers(image: Image) -> frozenset[int]:
    return frozenset(broker_id for broker_id in image.brokers if is_reluctant(image, broker_id))
