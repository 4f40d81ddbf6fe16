"""What settings do to those who show signed tokens."""

from __future__ import annotations

from typing import Any

from penstock.core.base.mechanisms import OAUTHBEARER
from penstock.core.base.settings import BrokerSettings
from penstock.core.peer.login import LoginRefused
from penstock.shell.signing_keys import Place, places
from tests.node.test_authentication import connect, log_in
from tests.node.test_tokens_at_login import TOKENS, Trusting, token
from tests.settings_act.security_checks import SASL
from tests.settings_act.trial import Machine, Trial

WITH_TOKENS = {**SASL, **TOKENS}


def is_let_in(trial: Trial, lives_s: int = 600, **changes: Any) -> bool:
    world = trial.begin(WITH_TOKENS)
    world.node.signing_keys = Trusting()
    try:
        log_in(connect(world), OAUTHBEARER, "", token(world, lives_s, **changes))
    except LoginRefused:
        return False
    return True


def user(trial: Trial) -> str:
    world = trial.begin(WITH_TOKENS)
    world.node.signing_keys = Trusting()
    client = connect(world)
    log_in(client, OAUTHBEARER, "", token(world, email="bob"))
    return client.connection.context.principal.name


def place(trial: Trial) -> Place:
    """Where keys are fetched, and how often."""
    ((_, found),) = places(BrokerSettings(Machine(trial.settings(WITH_TOKENS)).file()))
    return found


def starts(trial: Trial) -> bool:
    return trial.starts(WITH_TOKENS)
