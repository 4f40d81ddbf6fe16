"""The life of delegation tokens, told by both brokers in the same words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.client.security import Entropy
from penstock.core.base.mechanisms import PLAIN, SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.peer.login import Identity, Login, LoginRefused
from penstock.core.wire.schema import Request
from tests.access.town import entry
from tests.conformance.beside_kafka.side import Side, differences
from tests.conformance.beside_kafka.test_rights import entry_values
from tests.conformance.security.nodes import PLAIN_MODULE, SCRAM_MODULE, Nodes
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

pytestmark = [pytest.mark.java]

HOUR_MS = 3_600_000
USERS = ("root", "alice", "bob")
JAAS = f'{PLAIN_MODULE} required username="root" password="root" ' + " ".join(f'user_{each}="{each}"' for each in USERS)
SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f"{JAAS};",
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.controller.plain.sasl.jaas.config": f"{JAAS};",
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:root",
    "delegation.token.secret.key": "a secret of the tests",
    "delegation.token.max.lifetime.ms": str(48 * HOUR_MS),
    "connection.failed.authentication.delay.ms": "0",
}


class Town:
    """One broker, and those who have logged in there."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.port = port
        self._sides: list[Side] = []
        self.root, self.alice, self.bob = (self.log_in(PLAIN, each, each) for each in USERS)

    def log_in(self, mechanism: str, user: str, password: str, is_token: bool = False) -> Any:
        side = Side(self.name, self.port)
        self._sides.append(side)
        login = Login(Identity(mechanism, user, password, is_token), Entropy())
        request: Request | None = login.begin()
        while request is not None:
            values = {field.name: getattr(request, field.name) for field in type(request).SPEC.fields}
            api = type(request).__name__.removesuffix("Request")
            version = 1 if api == "SaslHandshake" else 2
            answer = side.ask_raw(api, version, **values).message
            request = login.next(answer)
        self.lifetime_ms = answer.session_lifetime_ms
        return side

    def close(self) -> None:
        for side in self._sides:
            side.close()

    def show(self, token: Any, mechanism: str = SCRAM_SHA_256) -> Any:
        return self.log_in(mechanism, token.token_id, b64encode(token.hmac).decode(), is_token=True)

    def error_of(self, mechanism: str, user: str, password: str, is_token: bool = True) -> str:
        try:
            self.log_in(mechanism, user, password, is_token)
        except LoginRefused as refusal:
            return str(refusal)
        return "let in"

    def made(
        self, who: Side, version: int = 3, renewers: tuple[str, ...] = (), kind: str = "User", **values: Any
    ) -> Any:
        named = [{"principal_type": kind, "principal_name": each} for each in renewers]
        given = {"max_lifetime_ms": -1, "renewers": named, **values}
        return who.ask_raw("CreateDelegationToken", version, **given).message

    def seen(self, who: Side, *owners: str, version: int = 3) -> Any:
        asked = [{"principal_type": "User", "principal_name": each} for each in owners] or None
        return who.ask_raw("DescribeDelegationToken", version, owners=asked).message

    def heard_of(self, token: Any, expiry_ms: int) -> None:
        """Until the broker knows when a token ends."""
        wait_until(
            lambda: (
                [expiry_ms]
                == [each.expiry_timestamp for each in self.seen(self.root).tokens if each.token_id == token.token_id]
            )
        )

    def settled(self, token: Any, is_there: bool = True) -> None:
        """Kafka's broker hears of it after the controller has answered."""
        wait_until(lambda: any(each.token_id == token.token_id for each in self.seen(self.root).tokens) == is_there)


def told(answer: Any) -> dict[str, Any]:
    """An answer without what each broker invents; times count from the issue."""
    found = {field.name: getattr(answer, field.name) for field in type(answer).SPEC.fields}
    begun = found.get("issue_timestamp_ms", found.get("issue_timestamp", 0))
    return {name: _shown(name, value, begun) for name, value in found.items()}


def _shown(name: str, value: Any, begun: int) -> Any:
    if name == "hmac":
        return len(value)
    if name == "token_id":
        return len(value)
    if "timestamp" in name:
        return value if value <= 0 else value - begun if begun > 0 else "(a time)"
    if isinstance(value, list):
        return [told(each) for each in value]
    return value


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Town]]:
    listeners = {
        "listeners": "PLAINTEXT://localhost:@,CONTROLLER://localhost:#",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    ours = Nodes(tmp_path_factory.mktemp("tokens"), {**SETTINGS, **listeners})
    with KafkaPeer(properties=SETTINGS) as kafka, ours:
        ours.wait()
        towns = [Town("Kafka", kafka.port), Town("Penstock", int(ours.bootstrap.split(":")[1]))]
        yield towns
        for town in towns:
            town.close()


def life(town: Town) -> Iterator[tuple[str, Any]]:
    """What somebody hears who tries everything."""
    for version in (1, 2, 3):
        yield f"made in {version}", told(town.made(town.alice, version))
    token = town.made(town.alice, max_lifetime_ms=30 * HOUR_MS, renewers=("bob",))
    yield "made for a while", told(token)
    town.settled(token)
    for version in (1, 2, 3):
        yield f"seen in {version}", told(town.seen(town.bob, version=version))
    yield "seen of nobody", told(town.alice.ask_raw("DescribeDelegationToken", 3, owners=[]).message)
    yield "seen of a stranger", told(town.seen(town.alice, "carol"))
    yield (
        "of another, without a right",
        told(town.made(town.alice, owner_principal_type="User", owner_principal_name="bob")),
    )
    yield "of another, in an old version", told(town.made(town.alice, 2))["principal_name"]
    for kind in ("Group", "user", ""):
        yield f"renewed by a {kind!r}", told(town.made(town.alice, renewers=("bob",), kind=kind))
    yield from changed(town, token)
    yield from shown(town, token)
    yield from with_rights(town)
    yield from at_the_end(town, token)


def changed(town: Town, token: Any) -> Iterator[tuple[str, Any]]:
    for who, side in (("alice", town.alice), ("bob", town.bob), ("root", town.root)):
        for period_ms in (-1, 0, HOUR_MS, 300 * HOUR_MS):
            found = side.ask_raw("RenewDelegationToken", 2, hmac=token.hmac, renew_period_ms=period_ms).message
            yield f"renewed by {who} for {period_ms}", (found.error_code, roughly(found.expiry_timestamp_ms, token))
    unknown = town.alice.ask_raw("RenewDelegationToken", 2, hmac=b"unknown", renew_period_ms=1).message
    yield "unknown, renewed", told(unknown)
    unknown = town.alice.ask_raw("ExpireDelegationToken", 2, hmac=b"unknown", expiry_time_period_ms=1).message
    yield "unknown, ended", told(unknown)
    refused = town.root.ask_raw("ExpireDelegationToken", 2, hmac=token.hmac, expiry_time_period_ms=-1).message
    yield "ended by a super user", told(refused)
    later = town.bob.ask_raw("ExpireDelegationToken", 1, hmac=token.hmac, expiry_time_period_ms=20 * HOUR_MS).message
    yield "ended later", (later.error_code, roughly(later.expiry_timestamp_ms, token))
    town.heard_of(token, later.expiry_timestamp_ms)


def roughly(time_ms: int, token: Any) -> float:
    """Hours from the issue."""
    return time_ms if time_ms <= 0 else round((time_ms - token.issue_timestamp_ms) / HOUR_MS, 1)


def shown(town: Town, token: Any) -> Iterator[tuple[str, Any]]:
    for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512):
        side = town.show(token, mechanism)
        yield f"lifetime with {mechanism}", round(town.lifetime_ms / HOUR_MS, 1)
        yield "made with a token", told(town.made(side))
        for_bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
        yield "made for another with a token", told(town.made(side, **for_bob))
        yield "seen with a token", told(town.seen(side))
        yield (
            "renewed with a token",
            told(side.ask_raw("RenewDelegationToken", 2, hmac=token.hmac, renew_period_ms=1).message),
        )
        yield (
            "ended with a token",
            told(side.ask_raw("ExpireDelegationToken", 2, hmac=token.hmac, expiry_time_period_ms=-1).message),
        )
        yield "topics with a token", side.ask("Metadata", 9, topics=[])["cluster_authorized_operations"]
    yield "a wrong proof", town.error_of(SCRAM_SHA_256, token.token_id, "guessed")
    yield "an unknown token", town.error_of(SCRAM_SHA_256, "nobody", "guessed")
    yield "a token as a user", town.error_of(SCRAM_SHA_256, token.token_id, "guessed", is_token=False)


def with_rights(town: Town) -> Iterator[tuple[str, Any]]:
    creations = [entry_values(entry("alice", "CREATE_TOKENS USER User:bob"))]
    assert town.root.ask("CreateAcls", 3, creations=creations)["results"][0]["error_code"] == 0
    for_bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    wait_until(lambda: town.made(town.alice, **for_bob).error_code == 0, what="the right to make tokens")
    made = town.made(town.alice, **for_bob)
    yield "of another, with a right", told(made)
    town.settled(made)
    requested = {each.token_id: told(each) for each in town.seen(town.alice).tokens}
    yield "seen by who asked for it", requested.get(made.token_id)
    refused = town.alice.ask_raw("RenewDelegationToken", 2, hmac=made.hmac, renew_period_ms=1).message
    yield "renewed by who asked for it", told(refused)


def at_the_end(town: Town, token: Any) -> Iterator[tuple[str, Any]]:
    found = town.bob.ask_raw("ExpireDelegationToken", 2, hmac=token.hmac, expiry_time_period_ms=-1).message
    yield "ended at once", (found.error_code, roughly(found.expiry_timestamp_ms, token))
    town.settled(token, is_there=False)
    yield "shown after its end", town.error_of(SCRAM_SHA_256, token.token_id, b64encode(token.hmac).decode())
    gone = town.bob.ask_raw("RenewDelegationToken", 2, hmac=token.hmac, renew_period_ms=1).message
    yield "renewed after its end", told(gone)


def test_both_tell_the_same_life(towns: list[Town]) -> None:
    theirs, ours = (dict(life(town)) for town in towns)
    found = list(differences(theirs, ours))
    assert not found, "\n".join(["Kafka says, we say:", *found])
    assert len(ours) > 40
