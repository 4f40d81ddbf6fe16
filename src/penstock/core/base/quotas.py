"""The names of client quotas, as Kafka's tools write them, and whom they are for."""

from __future__ import annotations

from typing import Final

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs in the order of their types; a name of None stands for all who have no quota of their own."""

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

PRODUCE: Final = "producer_byte_rate"
FETCH: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
MUTATION: Final = "controller_mutation_rate"
CONNECTION: Final = "connection_creation_rate"
