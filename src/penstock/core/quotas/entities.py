"""Whose quota is whose: the first of Kafka's eight kinds of entities that has one, and who shares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.core.base.quotas import CLIENT_ID, USER, QuotaEntity


class Sharing(NamedTuple):
    """Those who are measured together: None stands for any."""

    user: str | None
    client_id: str | None


class Kind(NamedTuple):
    """A kind of entity, most special first: which parts of it are named, and which stand for all others."""

    user: str | None
    client_id: str | None

    def entity(self, user: str, client_id: str) -> QuotaEntity:
        parts: list[tuple[str, str | None]] = []
        if self.client_id is not None:
            parts.append((CLIENT_ID, client_id if self.client_id == NAMED else None))
        if self.user is not None:
            parts.append((USER, user if self.user == NAMED else None))
        return tuple(parts)

    def sharing(self, user: str, client_id: str) -> Sharing:
        """A quota for all others is one for each of them."""
        return Sharing(None if self.user is None else user, None if self.client_id is None else client_id)


NAMED: Final = "named"
OTHERS: Final = "others"
KINDS: Final = (
    Kind(NAMED, NAMED),
    Kind(NAMED, OTHERS),
    Kind(NAMED, None),
    Kind(OTHERS, NAMED),
    Kind(OTHERS, OTHERS),
    Kind(OTHERS, None),
    Kind(None, NAMED),
    Kind(None, OTHERS),
)

Limits = Mapping[QuotaEntity, float]


def find(limits: Limits, user: str, client_id: str) -> tuple[Sharing, float] | None:
    """Who shares a client's quota, and what it is; None: it has none."""
    for kind in KINDS:
        limit = limits.get(kind.entity(user, client_id))
        if limit is not None:
            return kind.sharing(user, client_id), limit
    return None
