"""What is in force for single groups: of the group's own settings, and otherwise of its broker's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from penstock.core.base.settings import BrokerSettings
from penstock.core.base.settings.group import in_force
from penstock.core.metadata.image import GROUP_RESOURCE, Image

T = TypeVar("T")

Value = Callable[[str], Any]
"""What is in force under the name of a group's setting."""


class Configured(Protocol):
    """Whoever has the current image, and settings."""

    @property
    def image(self) -> Image: ...

    @property
    def settings(self) -> BrokerSettings: ...


class GroupOverrides(Generic[T]):
    """Read once for each image, and each change of the broker's own settings; groups that say nothing share one."""

    def __init__(self, node: Configured, read: Callable[[Value], T]) -> None:
        self._node = node
        self._read = read
        self._known: dict[str, T] = {}
        self._made_of: tuple[object, object] = (None, None)

    def of(self, group_id: str) -> T:
        node = self._node
        if self._made_of[0] is not node.image or self._made_of[1] is not node.settings:
            self._made_of = node.image, node.settings
            self._known.clear()
        own = node.image.config(GROUP_RESOURCE, group_id)
        # No group is called so.
        kept_as = group_id if own else ""
        known = self._known.get(kept_as)
        if known is None:
            known = self._known[kept_as] = self._read(lambda name: in_force(name, own, node.settings))
        return known
