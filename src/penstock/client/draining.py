"""Brokers that are drained for their maintenance: others lead for them until that is taken back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.client.admin import BROKER, DELETE, SET, Admin
from penstock.client.blocking import Client
from penstock.client.errors import Unreachable, check
from penstock.core.metadata.reluctance import DRAINED
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_TRUE: Final = "true"


class Drains:
    """What is set and asked about that. The setting is the controller's: the broker itself may be down."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def begin(self, node_id: int) -> None:
        """Let others lead for a broker; comes back when they do, as far as they can."""
        self._set(node_id, AlterableConfig(name=DRAINED, config_operation=SET, value=_TRUE))

    def end(self, node_id: int) -> None:
        """Let a broker lead again."""
        self._set(node_id, AlterableConfig(name=DRAINED, config_operation=DELETE, value=None))

    def _set(self, node_id: int, change: AlterableConfig) -> None:
        resource = AlterConfigsResource(resource_type=BROKER, resource_name=str(node_id), configs=[change])
        request = IncrementalAlterConfigsRequest(resources=[resource])

        def attempt() -> None:
            (result,) = self._client.ask(request, IncrementalAlterConfigsResponse).responses
            check(result.error_code, f"broker {node_id}", result.error_message)

        self._client.retry(attempt)

    def can(self, node_id: int) -> bool:
        """Whether a broker is of a kind that can be drained; one that does not answer is taken for one."""
        return self._told(node_id) is not None

    def of(self, node_ids: Iterable[int]) -> list[int]:
        """Those of some brokers that are drained; who does not answer is left out."""
        return [node_id for node_id in node_ids if self._told(node_id) == _TRUE]

    def _told(self, node_id: int) -> str | None:
        try:
            found = Admin(self._client).describe_configs(BROKER, str(node_id), [DRAINED])
        except Unreachable:
            return ""
        return next((setting.value for setting in found if setting.name == DRAINED), None)
