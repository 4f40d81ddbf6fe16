"""SCRAM's credentials in the metadata: which may be put there, and what is told of them. Never the keys."""

from __future__ import annotations

from collections import Counter
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.mechanisms import SCRAM_NUMBERS
from penstock.core.metadata.image import Image
from penstock.core.sasl.scram import ITERATIONS_MAX, ITERATIONS_MIN, credential
from penstock.core.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from penstock.core.wire.api.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import RemoveUserScramCredentialRecord, UserScramCredentialRecord

_MECHANISMS: Final = {number: mechanism for mechanism, number in SCRAM_NUMBERS.items()}
_TWICE: Final = "A user credential cannot be altered twice in the same request"


def plan_credentials(
    image: Image, request: AlterUserScramCredentialsRequest
) -> tuple[list[StoredRecord], AlterUserScramCredentialsResponse]:
    """Each user stands or falls alone."""
    changes: list[ScramCredentialDeletion | ScramCredentialUpsertion] = [*request.deletions, *request.upsertions]
    times = Counter((each.name, each.mechanism) for each in changes)
    records: dict[str, list[StoredRecord]] = {}
    failures: dict[str, ApiError] = {}
    for change in changes:
        own = records.setdefault(change.name, [])
        try:
            if times[change.name, change.mechanism] > 1:
                raise ApiError(ErrorCode.DUPLICATE_RESOURCE, _TWICE)
            own.append(_planned(image, change))
        except ApiError as error:
            failures.setdefault(change.name, error)
    results = [_result(user, failures.get(user)) for user in records]
    planned = [record for user, own in records.items() if user not in failures for record in own]
    return planned, AlterUserScramCredentialsResponse(results=results)


def described(image: Image, users: list[str]) -> DescribeUserScramCredentialsResponse:
    """Those who were asked for, or everybody."""
    times = Counter(users)
    known: dict[str, list[CredentialInfo]] = {}
    for (name, mechanism), record in sorted(image.access.credentials.items()):
        if name in times or not users:
            info = CredentialInfo(mechanism=mechanism, iterations=record.iterations)
            known.setdefault(name, []).append(info)
    results = [_described(user, times[user], known.get(user)) for user in (times or known)]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def credential_record(
    name: str, mechanism: str, salt: bytes, salted_password: bytes, iterations: int
) -> UserScramCredentialRecord:
    """What is kept of a password."""
    kept = credential(mechanism, salted_password, salt, iterations)
    return UserScramCredentialRecord(
        name=name,
        mechanism=SCRAM_NUMBERS[mechanism],
        salt=salt,
        stored_key=kept.stored_key,
        server_key=kept.server_key,
        iterations=iterations,
    )


def _planned(image: Image, change: ScramCredentialDeletion | ScramCredentialUpsertion) -> StoredRecord:
    mechanism = _MECHANISMS.get(change.mechanism)
    if not change.name:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism is None:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        if (change.name, change.mechanism) not in image.access.credentials:
            message = "Attempt to delete a user credential that does not exist"
            raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, message)
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=change.mechanism)
    if not ITERATIONS_MIN <= change.iterations <= ITERATIONS_MAX:
        few = change.iterations < ITERATIONS_MIN
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations" if few else "Too many iterations")
    if not change.salt or not change.salted_password:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Neither salt nor salted password may be empty")
    return credential_record(
        change.name, mechanism, bytes(change.salt), bytes(change.salted_password), change.iterations
    )


def _result(user: str, failure: ApiError | None) -> AlterUserScramCredentialsResult:
    if failure is None:
        return AlterUserScramCredentialsResult(user=user, error_code=0, error_message=None)
    return AlterUserScramCredentialsResult(user=user, error_code=failure.code, error_message=failure.message)


def _described(user: str, times: int, infos: list[CredentialInfo] | None) -> DescribeUserScramCredentialsResult:
    code, message = ErrorCode.NONE, None
    if times > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    elif infos is None:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {user}"
    return DescribeUserScramCredentialsResult(
        user=user, error_code=code, error_message=message, credential_infos=infos or [] if not code else []
    )
