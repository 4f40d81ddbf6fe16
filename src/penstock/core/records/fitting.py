"""Whether the records of a batch fit the schemas that they name.

Where only ids are asked for, batches mostly name one schema, in front of each value, without a header: those are walked
from one record's head to the next. Whatever is unusual is read record by record, and the reasons come from there.
"""

from __future__ import annotations

from typing import Final

from penstock.core.records.batch import BatchHeader
from penstock.core.records.record import Headers, Record, records_of
from penstock.core.records.schema_ids import (
    KEY_HEADER,
    VALUE_HEADER,
    Check,
    Demand,
    Known,
    Misfit,
    Named,
    SchemasWanted,
    SchemaText,
    are_of_heads,
    named_in_header,
    named_in_payload,
)

SCHEMAS_MAX: Final = 1_000
"""Of one batch: as many are looked up for it."""


def misfits(header: BatchHeader, body: bytes, demands: tuple[Demand, ...], known: Known) -> list[tuple[int, str]]:
    """The records that do not fit, each with the reason; `SchemasWanted` where that cannot be said yet."""
    if are_of_heads(demands) and has_usual_heads(body, 0, header.count, known.heads):
        return []
    reader = _Reader(known)
    found = list[tuple[int, str]]()
    for index, record in enumerate(records_of(header, body)):
        for demand in demands:
            reason = reader.reason(record, demand)
            if reason is not None:
                found.append((index, reason))
                break
    if reader.wanted:
        raise SchemasWanted(frozenset(reader.wanted))
    return found


class _Reader:
    """Reads the records of one batch."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._checks: dict[Named, Check | str] = {}
        self.wanted: dict[Named, None] = {}

    def reason(self, record: Record, demand: Demand) -> str | None:
        """Why a record does not fit. A key or a value that is not there has nothing to fit."""
        payload = record.key if demand.of_key else record.value
        if payload is None:
            return None
        named = _named(record.headers, payload, demand.of_key)
        if isinstance(named, str):
            return f"its {demand.part} {named}"
        return self._reason_of(demand, *named)

    def _reason_of(self, demand: Demand, schema: Named, payload: bytes) -> str | None:
        if schema not in self._known.verdicts:
            if len(self.wanted) >= SCHEMAS_MAX:
                return f"a batch may name {SCHEMAS_MAX} schemas"
            self.wanted[schema] = None
            return None
        verdict = self._known.verdicts[schema]
        if verdict is None:
            return None
        misfit = verdict if isinstance(verdict, str) else self._checked(schema, verdict, payload)
        if isinstance(misfit, Misfit):
            where = f"{demand.part}.{misfit.field}" if misfit.field else f"its {demand.part}"
            return f"{where} does not fit {schema}: {misfit.reason}"
        return None if misfit is None else f"its {demand.part} names {schema}, {misfit}"

    def _checked(self, schema: Named, text: SchemaText, payload: bytes) -> Misfit | str | None:
        check = self._checks.get(schema)
        if check is None:
            check = self._checks[schema] = self._make(text)
        return check if isinstance(check, str) else check(payload)

    def _make(self, text: SchemaText) -> Check | str:
        make_check = self._known.make_check
        if make_check is None:
            return "which this broker cannot read"
        try:
            return make_check(text)
        except ValueError as failure:
            return f"which this broker cannot read: {failure}"


def _named(headers: Headers, payload: bytes, of_key: bool) -> tuple[Named, bytes] | str:
    if headers:
        wanted = KEY_HEADER if of_key else VALUE_HEADER
        data = next((value for name, value in headers if name == wanted), None)
        if data is not None:
            return named_in_header(of_key, data, payload)
    return named_in_payload(of_key, payload)


def has_usual_heads(batch: bytes, start: int, count: int, heads: frozenset[bytes]) -> bool:
    """Whether all is well with unpacked records, as far as that can be seen from their heads alone."""
    try:
        return bool(heads) and _values_begin(batch, start, count, heads)
    except IndexError:
        return False


def _values_begin(body: bytes, start: int, count: int, heads: frozenset[bytes]) -> bool:
    """Whether each record has no header and a value with one of some beginnings, and ends where its value does. Sizes
    of up to two bytes are read in place, as in `records_of`; False where there are others."""
    end = start
    for _ in range(count):
        p = end
        if (n := body[p]) > 127:
            n = n & 127 | body[p := p + 1] << 7
            if n > 16383:
                return False
        end = p + 1 + (n >> 1)
        is_odd = n
        # The attributes, then what differs in time, and in offset.
        if body[p := p + 2] > 127:
            while body[p := p + 1] > 127:
                pass
        if body[p := p + 1] > 127:
            while body[p := p + 1] > 127:
                pass
        if (n := body[p := p + 1]) != 1:
            if n > 127:
                n = n & 127 | body[p := p + 1] << 7
                if n > 16383:
                    return False
            p += n >> 1
            is_odd |= n
        if (n := body[p := p + 1]) > 127:
            n = n & 127 | body[p := p + 1] << 7
            if n > 16383:
                return False
        p += 1
        # An odd size is a negative one: only keys may have that, if they are not there.
        if (is_odd | n) & 1 or body[p : p + 5] not in heads or p + (n >> 1) + 1 != end or body[end - 1]:
            return False
    return end == len(body)
