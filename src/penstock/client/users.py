"""Users of SCRAM: who there is, with which mechanisms; making them, and letting them go. Passwords do not travel."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import SCRAM_NUMBERS
from penstock.core.sasl.scram import salted
from penstock.core.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from penstock.core.wire.api.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

SALT_BYTES: Final = 24
ITERATIONS: Final = 8192
Iterations = Mapping[str, int]
"""How often each mechanism of a user counts."""

_NAMES: Final = {number: name for name, number in SCRAM_NUMBERS.items()}


def users(client: Client, *names: str) -> dict[str, Iterations]:
    """All users, or those of these names that there are."""
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names] or None)
    answer = client.retry(lambda: client.ask(request, DescribeUserScramCredentialsResponse))
    check(answer.error_code, "the users", answer.error_message)
    found: dict[str, Iterations] = {}
    for result in answer.results:
        if result.error_code != ErrorCode.RESOURCE_NOT_FOUND:
            check(result.error_code, f"user {result.user}", result.error_message)
            infos = result.credential_infos
            found[result.user] = {_NAMES.get(each.mechanism, "unknown"): each.iterations for each in infos}
    return found


def set_password(client: Client, name: str, password: str, mechanisms: Iterable[str]) -> None:
    """What is sent is the salted password, from which the other one cannot be read. One mechanism at a time: Kafka
    refuses a request that names a user twice."""
    for mechanism in mechanisms:
        salt = os.urandom(SALT_BYTES)
        secret = salted(mechanism, password, salt, ITERATIONS)
        number = SCRAM_NUMBERS[mechanism]
        change = ScramCredentialUpsertion(
            name=name, mechanism=number, iterations=ITERATIONS, salt=salt, salted_password=secret
        )
        _alter(client, AlterUserScramCredentialsRequest(upsertions=[change]), name)


def delete_user(client: Client, name: str, mechanisms: Iterable[str]) -> None:
    for mechanism in mechanisms:
        change = ScramCredentialDeletion(name=name, mechanism=SCRAM_NUMBERS[mechanism])
        _alter(client, AlterUserScramCredentialsRequest(deletions=[change]), name)


def _alter(client: Client, request: AlterUserScramCredentialsRequest, name: str) -> None:
    answer = client.retry(lambda: client.ask(request, AlterUserScramCredentialsResponse, node=client.controller()))
    for result in answer.results:
        check(result.error_code, f"user {name}", result.error_message)
