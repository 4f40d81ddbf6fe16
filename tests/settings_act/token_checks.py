"""What settings do to delegation tokens."""

from __future__ import annotations

from typing import Any

from penstock.core.wire.api.create_delegation_token import CreateDelegationTokenRequest
from tests.node.test_authentication import connect, log_in
from tests.settings_act.security_checks import SASL
from tests.settings_act.trial import Machine, Trial

WITH_SECRET = {**SASL, "delegation.token.secret.key": "of all nodes"}


def _made(world: Machine, lifetime_ms: int = -1) -> Any:
    client = connect(world)
    log_in(client, "PLAIN", "alice", "secret")
    return client.ask(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=lifetime_ms))


def error_of(trial: Trial) -> int:
    code: int = _made(trial.begin(WITH_SECRET)).error_code
    return code


def longest_ms(trial: Trial) -> int:
    found = _made(trial.begin(WITH_SECRET))
    longest: int = found.max_timestamp_ms - found.issue_timestamp_ms
    return longest


def renewed_ms(trial: Trial) -> int:
    found = _made(trial.begin(WITH_SECRET))
    first: int = found.expiry_timestamp_ms - found.issue_timestamp_ms
    return first


def kept_after_a_minute(trial: Trial) -> int:
    world = trial.begin(WITH_SECRET)
    assert _made(world, 1_000).error_code == 0
    world.pass_time(60_000)
    return len(world.node.image.access.tokens)
