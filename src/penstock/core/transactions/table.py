"""All transactional ids of a machine. `replay` is the only writer."""

from __future__ import annotations

from penstock.core.transactions.metadata import TransactionMetadata
from penstock.core.transactions.records import decode_key, decode_value
from penstock.core.transactions.states import PREPARED, State


class TransactionTable(dict[str, TransactionMetadata]):
    """By id; and which of them are open, or being ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ongoing: dict[str, None] = {}
        self.prepared: dict[str, None] = {}

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take in a record. What a newer version has written is left alone."""
        transactional_id = decode_key(key)
        if transactional_id is None:
            return
        if value is None:
            self.pop(transactional_id, None)
            self._file(transactional_id, State.DEAD)
        elif (metadata := decode_value(transactional_id, value)) is not None:
            self[transactional_id] = metadata
            self._file(transactional_id, metadata.state)

    def clear(self) -> None:
        super().clear()
        self.ongoing.clear()
        self.prepared.clear()

    def _file(self, transactional_id: str, state: State) -> None:
        for names, is_in in ((self.ongoing, state is State.ONGOING), (self.prepared, state in PREPARED)):
            if is_in:
                names[transactional_id] = None
            else:
                names.pop(transactional_id, None)
