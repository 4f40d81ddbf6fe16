"""How many bytes of batches wait in the stages of all partitions, and for whom.

A connection with much of it is not read from until some is done, so that one client does not fill what is for all; only
where many do so together are batches refused, and come again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.serving.ports import Bounded

if TYPE_CHECKING:
    from penstock.core.node.serving.connection import Connection

CONNECTION_SHARE: Final = 16
"""One connection gets this part of what there is for all."""


class Staging:
    """The bytes of a node that wait to be read."""

    def __init__(self, node: Bounded) -> None:
        self._node = node
        self.bytes_staged = 0

    def take(self, connection: Connection, size: int) -> None:
        bytes_max = self._node.limits.staged_bytes_max
        if self.bytes_staged and self.bytes_staged + size > bytes_max:
            raise ApiError(
                ErrorCode.REQUEST_TIMED_OUT,
                f"batches of {self.bytes_staged} bytes wait already (penstock.batch.queue.bytes.max is {bytes_max})",
            )
        self.bytes_staged += size
        connection.staged_bytes += size

    def give_back(self, connection: Connection, size: int) -> None:
        self.bytes_staged -= size
        connection.staged_bytes -= size
        if not connection.reading:
            connection.mark()

    def is_full_for(self, connection: Connection) -> bool:
        """Whether a connection has its share."""
        return connection.staged_bytes * CONNECTION_SHARE >= self._node.limits.staged_bytes_max
