"""What an API says of the controller's part in it: how it decides, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.core.node.controller.active import ActiveController
from penstock.core.node.controller.ports import Asked, Refuse

Decide = Callable[[ActiveController, Asked], None]
"""What the active controller does with a request."""


class Decides(Protocol):
    """The part of an API that is the controller's."""

    @property
    def decide(self) -> Decide | None: ...

    @property
    def refuse(self) -> Refuse: ...
