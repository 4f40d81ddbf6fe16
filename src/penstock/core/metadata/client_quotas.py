"""AlterClientQuotas as a plan, and DescribeClientQuotas as a look at the image: who has which quota."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.quotas import (
    CLIENT_ID,
    CONNECTION,
    FETCH,
    IP,
    MUTATION,
    PRODUCE,
    REQUEST,
    USER,
    QuotaEntity,
)
from penstock.core.metadata.image import Image
from penstock.core.wire.api.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntityData,
    ResponseEntityData,
    ResponseEntryData,
)
from penstock.core.wire.api.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntryData,
    ValueData,
)
from penstock.core.wire.api.describe_client_quotas import EntityData as DescribedEntity
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ClientQuotaRecord, EntityData

_LONG_MAX, _INT_MAX = 2**63 - 1, 2**31 - 1
OF_CLIENTS: Final[Mapping[str, int | None]] = {PRODUCE: _LONG_MAX, FETCH: _LONG_MAX, REQUEST: None, MUTATION: None}
OF_ADDRESSES: Final[Mapping[str, int | None]] = {CONNECTION: _INT_MAX}
"""The largest whole number that a quota may be; None: any number may be one."""
FRACTION_MAX: Final = 1e-6
EXACT, DEFAULT, SPECIFIED = range(3)
"""How a component of a filter matches: this name, whoever has no quota of its own, any of them."""

Changes = Mapping[str, float | None]
"""The new value of each key; None takes a quota away."""


def plan_alterations(
    image: Image, request: AlterClientQuotasRequest
) -> tuple[list[StoredRecord], AlterClientQuotasResponse]:
    """Each entity stands or falls alone; what may be is one batch."""
    records: list[StoredRecord] = []
    results: dict[QuotaEntity, ResponseEntryData] = {}
    for entry in request.entries:
        result = _result(entry.entity)
        key = entity_of(entry.entity)
        try:
            if key in results:
                raise _wrong(f"Ignoring duplicate entity {_named(key)}")
            records += _alter(image, entry.entity, _changes(key, entry.ops))
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
        results[key] = result
    response = AlterClientQuotasResponse(entries=list(results.values()))
    return [] if request.validate_only else records, response


def describe(image: Image, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """All entities that match every component; a strict filter wants no others in them."""
    try:
        _check_filter(request.components)
    except ApiError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    quotas = image.access.quotas.items()
    found = [_entry(entity, values) for entity, values in quotas if _matches(dict(entity), request)]
    return DescribeClientQuotasResponse(error_code=0, error_message=None, entries=found)


def entity_of(parts: Iterable[RequestEntityData]) -> QuotaEntity:
    return tuple(sorted(((each.entity_type, each.entity_name) for each in parts), key=lambda pair: pair[0]))


def _wrong(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def _result(parts: list[RequestEntityData]) -> ResponseEntryData:
    entity = [ResponseEntityData(entity_type=each.entity_type, entity_name=each.entity_name) for each in parts]
    return ResponseEntryData(error_code=0, error_message=None, entity=entity)


def _named(entity: QuotaEntity) -> str:
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity)


def _changes(entity: QuotaEntity, operations: list[OpData]) -> Changes:
    changes = {each.key: None if each.remove else each.value for each in operations}
    if len(changes) < len(operations):
        raise _wrong(f"A quota of {_named(entity)} is given more than once.")
    return changes


def _alter(image: Image, parts: list[RequestEntityData], changes: Changes) -> list[StoredRecord]:
    _check_entity(parts)
    known = OF_ADDRESSES if any(each.entity_type == IP for each in parts) else OF_CLIENTS
    before = image.access.quotas.get(entity_of(parts), {})
    records: list[StoredRecord] = []
    for key, value in changes.items():
        if value is not None:
            _check_value(known, key, value)
        if before.get(key) != value:
            entity = [EntityData(entity_type=each.entity_type, entity_name=each.entity_name) for each in parts]
            records.append(ClientQuotaRecord(entity=entity, key=key, value=value or 0.0, remove=value is None))
    return records


def _check_entity(parts: list[RequestEntityData]) -> None:
    kinds = [each.entity_type for each in parts]
    if not kinds:
        raise _wrong("Invalid empty client quota entity")
    for kind, each in zip(kinds, parts, strict=True):
        if kinds.count(kind) > 1:
            raise _wrong(f"Invalid client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise _wrong(f"Unhandled client quota entity type: {kind}")
        if each.entity_name == "":
            raise _wrong(f"Empty {kind} not supported")
    if IP in kinds:
        if len(kinds) > 1:
            raise _wrong("Invalid quota entity combination, an IP cannot be combined with a user or a client id")
        _check_address(parts[0].entity_name)


def _check_address(name: str | None) -> None:
    """Kafka takes names of hosts as well, and asks for their addresses; here nobody is asked."""
    try:
        if name is not None:
            ip_address(name)
    except ValueError:
        raise _wrong(f"{name} is not a valid IP") from None


def _check_value(known: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in known:
        raise _wrong(f"Invalid configuration key {key}")
    if not value > 0:
        raise _wrong(f"Quota {key} must be greater than 0")
    value_max = known[key]
    if value_max is None:
        return
    if value > value_max:
        raise _wrong(f"Proposed value for {key} is too large: {value_max} is the most")
    if value % 1.0 > FRACTION_MAX:
        raise _wrong(f"{key} cannot be a fractional value.")


def _check_filter(components: list[ComponentData]) -> None:
    kinds = [each.entity_type for each in components]
    for each in components:
        if not each.entity_type:
            raise _wrong("Invalid empty entity type.")
        if kinds.count(each.entity_type) > 1:
            raise _wrong(f"Entity type {each.entity_type} cannot appear more than once in the filter.")
        if each.entity_type not in (USER, CLIENT_ID, IP):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {each.entity_type}")
        if each.match_type not in (EXACT, DEFAULT, SPECIFIED):
            raise _wrong(f"Unknown match type {each.match_type}")
        if (each.match_type == EXACT) == (each.match is None):
            raise _wrong("A name belongs to an exact match, and to no other.")
    if IP in kinds and len(kinds) > 1:
        raise _wrong("Invalid entity filter component combination: an IP is not combined with a user or a client id.")


def _matches(entity: Mapping[str, str | None], request: DescribeClientQuotasRequest) -> bool:
    if request.strict and len(entity) != len(request.components):
        return False
    return all(
        each.entity_type in entity and (each.match_type == SPECIFIED or entity[each.entity_type] == each.match)
        for each in request.components
    )


def _entry(entity: QuotaEntity, values: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[DescribedEntity(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[ValueData(key=key, value=value) for key, value in values.items()],
    )
