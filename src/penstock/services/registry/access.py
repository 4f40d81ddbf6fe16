"""Who may do what: names and passwords by basic authentication, and rights by the cluster's own rules.

A subject is guarded like the topic that it is about: the rules for `orders` hold for `orders-key` and `orders-value`,
and those for any other subject's name for that subject, contexts left out. READ sees schemas, WRITE registers them,
DELETE deletes them, DESCRIBE_CONFIGS and ALTER_CONFIGS are about compatibility and mode, which for all subjects
together belong to the cluster.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.client.acls import Acls, Filter
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.core.access.decisions import Decisions
from penstock.core.access.words import CLUSTER_NAME, Operation, Resource
from penstock.core.base.errors import ErrorCode
from penstock.core.schemas.subjects import qualified
from penstock.core.wire.stored.cluster_metadata import AccessControlEntryRecord
from penstock.services.registry.asked import Asked, Right, Route
from penstock.services.registry.errors import RestError
from penstock.services.registry.routes import about

REMEMBERED_SECONDS: Final = 60.0
RULES_SECONDS: Final = 5.0
NAMES_MAX: Final = 10_000
BROKER: Final = 4
OPERATIONS: Final[Mapping[Right, Operation]] = {
    Right.READ: Operation.READ,
    Right.WRITE: Operation.WRITE,
    Right.DELETE: Operation.DELETE,
    Right.DESCRIBE_CONFIG: Operation.DESCRIBE_CONFIGS,
    Right.ALTER_CONFIG: Operation.ALTER_CONFIGS,
}

Check = Callable[[str, str], bool]
"""Whether a name and a password belong together; may block."""


class Passwords:
    """Asks who is asked about, and remembers the answer for a while; of passwords only a hash with our own salt."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._salt = os.urandom(16)
        self._known: OrderedDict[bytes, float] = OrderedDict()

    async def user_of(self, header: str) -> str:
        kind, _, token = header.partition(" ")
        if kind.lower() != "basic":
            raise RestError(401, "Unauthorized")
        try:
            name, colon, password = base64.b64decode(token, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            raise RestError(401, "Unauthorized") from None
        mark = hmac.digest(self._salt, f"{name}:{password}".encode(), hashlib.sha256)
        if self._known.get(mark, 0.0) > time.monotonic():
            return name
        if not colon or not name or not await asyncio.to_thread(self._check, name, password):
            raise RestError(401, "Unauthorized")
        self._known[mark] = time.monotonic() + REMEMBERED_SECONDS
        while len(self._known) > NAMES_MAX:
            self._known.popitem(last=False)
        return name


@dataclass(slots=True)
class Rules:
    """The cluster's rules, as they were a moment ago."""

    connect: Callable[[], Client]
    super_users: frozenset[str] = frozenset()
    _decisions: Decisions | None = None
    _until: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def now(self) -> Decisions:
        async with self._lock:
            if self._decisions is None or time.monotonic() > self._until:
                try:
                    self._decisions = await asyncio.to_thread(self._ask)
                except ClientError as failure:
                    raise RestError(50001, f"the cluster does not say who may do what: {failure}") from None
                self._until = time.monotonic() + RULES_SECONDS
            return self._decisions

    def _ask(self) -> Decisions:
        with self.connect() as client:
            try:
                found = Acls(client).find(Filter())
            except ClientError as failure:
                if failure.code != ErrorCode.SECURITY_DISABLED:
                    raise
                # A cluster without an authorizer lets everybody do everything.
                return Decisions({}, frozenset(), True)
            node = next(iter(Admin(client).cluster().brokers)).node_id
            settings = {each.name: each.value for each in Admin(client).describe_configs(BROKER, str(node))}
        rules: dict[tuple[int, int, str], dict[str, dict[bytes, AccessControlEntryRecord]]] = {}
        for number, rule in enumerate(found):
            entry = AccessControlEntryRecord(
                resource_type=rule.resource,
                resource_name=rule.name,
                pattern_type=rule.pattern,
                principal=rule.principal,
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            place = rules.setdefault((int(rule.resource), int(rule.pattern), rule.name), {})
            place.setdefault(rule.principal, {})[number.to_bytes(16)] = entry
        named = frozenset(filter(None, map(str.strip, (settings.get("super.users") or "").split(";"))))
        is_open = settings.get("allow.everyone.if.no.acl.found") == "true"
        return Decisions(rules, named | self.super_users, is_open)


class Access:
    """Lets requests in. Without passwords everybody is anonymous, without rules everybody may do everything."""

    def __init__(self, passwords: Passwords | None = None, rules: Rules | None = None) -> None:
        self._passwords = passwords
        self._rules = rules

    async def admit(self, request: Asked, route: Route) -> None:
        """Says who asks; refuses who may not."""
        if self._passwords is not None:
            request.user = await self._passwords.user_of(request.headers.get("authorization", ""))
        if self._rules is None:
            return
        decisions = await self._rules.now()
        principal = f"User:{request.user or 'ANONYMOUS'}"

        def may(operation: Operation, subject: str) -> bool:
            resource, name = (Resource.TOPIC, guarded_as(subject)) if subject else (Resource.CLUSTER, CLUSTER_NAME)
            return decisions.allows(principal, request.host, operation, resource, name)

        request.may_see = lambda subject: may(Operation.READ, subject)
        subject = about(request)
        operation = OPERATIONS.get(route.right)
        if operation is None or subject is None:
            return
        named = "" if not qualified(subject).subject else subject
        if operation in (Operation.WRITE, Operation.DELETE) and not named:
            operation = Operation.ALTER
        if not may(operation, named):
            raise RestError(40301, f"User is denied operation {operation.name} on this server.")


def guarded_as(subject: str) -> str:
    name = qualified(subject).subject
    return name.removesuffix("-key").removesuffix("-value") if name.endswith(("-key", "-value")) else name
