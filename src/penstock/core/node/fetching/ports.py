"""What fetching needs of the node around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Entropy, Steps
from penstock.core.metadata.image import Image
from penstock.core.node.host import Host
from penstock.core.node.replication.replication import Replication
from penstock.core.node.serving.gates import Gates
from penstock.core.node.serving.limits import Limits
from penstock.core.node.serving.slots import Slot
from penstock.core.node.storage.replicas import Replicas
from penstock.core.wire import Message


class FetchHost(Host, Protocol):
    """The node from which readers and followers fetch."""

    @property
    def image(self) -> Image: ...

    @property
    def replicas(self) -> Replicas: ...

    @property
    def replication(self) -> Replication: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def gates(self) -> Gates: ...

    @property
    def entropy(self) -> Entropy: ...

    @property
    def audits(self) -> bool: ...

    def audit_refusal(self, event: Mapping[str, Any]) -> None: ...

    def run_steps(self, slot: Slot, steps: Steps[Message]) -> None: ...

    def error(self, api: str, code: ErrorCode) -> int: ...
