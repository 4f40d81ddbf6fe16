"""A controller introduces itself to the active one: what it supports and where it listens (KIP-919).

The cluster raises a feature's level only when every voter is known to support it. So each one asks until the metadata
has its registration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.values import frozen
from penstock.core.metadata.brokers import FeatureRanges
from penstock.core.metadata.features import CONTROLLER_REGISTRATION_LEVEL_MIN, METADATA_VERSION
from penstock.core.metadata.image import Image
from penstock.core.node.controller.ports import Host
from penstock.core.wire.api.controller_registration import ControllerRegistrationRequest, Feature, Listener
from penstock.core.wire.schema import Request, Response

TIMEOUT_MS: Final = 5_000
RETRY_MS: Final = 1_000

Ask = Callable[[Request, int, Callable[[Response | None], None]], None]


@frozen
class Credentials:
    """What a controller says of itself."""

    controller_id: int
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    features: FeatureRanges

    def registration(self) -> ControllerRegistrationRequest:
        return ControllerRegistrationRequest(
            controller_id=self.controller_id,
            incarnation_id=self.incarnation,
            listeners=[
                Listener(name=each.name, host=each.host, port=each.port, security_protocol=each.protocol)
                for each in self.endpoints
            ],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in self.features.items()
            ],
        )


class Introduction:
    """Looks at each image whether this controller is in it, and asks if it is not."""

    def __init__(self, host: Host, credentials: Credentials, ask: Ask) -> None:
        self._host = host
        self._credentials = credentials
        self._ask = ask
        self._is_asking = False
        self._image = Image()

    def look(self, image: Image) -> None:
        self._image = image
        if not self._is_asking and not self._is_known():
            self._is_asking = True
            self._ask(self._credentials.registration(), TIMEOUT_MS, self._heard)

    def _is_known(self) -> bool:
        """Whether nothing is to be said: the metadata knows this process, or has no room for it."""
        if self._image.features.get(METADATA_VERSION, 0) < CONTROLLER_REGISTRATION_LEVEL_MIN:
            return True
        known = self._image.controllers.get(self._credentials.controller_id)
        return known is not None and known.incarnation == self._credentials.incarnation

    def _heard(self, answer: Response | None) -> None:
        """What was accepted will be in an image soon; looking again after a while covers everything else."""
        self._host.deadlines.at(self._host.now_ms + RETRY_MS, self._again)

    def _again(self) -> None:
        self._is_asking = False
        self.look(self._image)
