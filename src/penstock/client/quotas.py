"""Client quotas, looked at and changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.core.base.quotas import CONNECTION, FETCH, MUTATION, PRODUCE, REQUEST, QuotaEntity
from penstock.core.wire.api.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from penstock.core.wire.api.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse

DEFAULT: Final = "<default>"
"""How Kafka writes those who have no quota of their own."""

WORDS: Final = {
    "produce": PRODUCE,
    "fetch": FETCH,
    "request": REQUEST,
    "mutation": MUTATION,
    "connections": CONNECTION,
}
"""What people call them, and Kafka's names."""
_BYTES: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?(?:/s)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Quotas(NamedTuple):
    """What an entity has."""

    entity: QuotaEntity
    values: Mapping[str, float]


def entity_text(entity: QuotaEntity) -> str:
    return ", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in reversed(entity))


def quotas(client: Client) -> list[Quotas]:
    """All that there are, by entity."""
    request = DescribeClientQuotasRequest(components=[], strict=False)

    def attempt() -> DescribeClientQuotasResponse:
        answer = client.ask(request, DescribeClientQuotasResponse)
        check(answer.error_code, "the quotas", answer.error_message)
        return answer

    found = [
        Quotas(
            tuple(sorted(((part.entity_type, part.entity_name) for part in entry.entity), key=lambda pair: pair[0])),
            {value.key: value.value for value in entry.values},
        )
        for entry in client.retry(attempt).entries or []
    ]
    return sorted(found, key=lambda each: entity_text(each.entity))


def alter_quotas(client: Client, entity: QuotaEntity, changes: Mapping[str, float | None]) -> None:
    """Set some quotas of an entity; None takes one away."""
    parts = [RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    ops = [OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]
    request = AlterClientQuotasRequest(entries=[RequestEntryData(entity=parts, ops=ops)])

    def attempt() -> None:
        for entry in client.ask(request, AlterClientQuotasResponse).entries:
            check(entry.error_code, entity_text(entity), entry.error_message)

    client.retry(attempt)


def parse_bytes(text: str) -> int | None:
    """`500000`, `500k` or `10M` as a number; None if it is none of these."""
    found = _BYTES.fullmatch(text.strip())
    return None if found is None else int(float(found[1]) * _UNITS[found[2].lower()])
