"""The users that a cluster is formatted with: `--add-scram 'SCRAM-SHA-512=[name=alice,password=...]'`, as in Kafka."""

from __future__ import annotations

import os
import re
import time
from base64 import b64decode
from typing import Final

from penstock.cli.talk import Misused
from penstock.core.base.mechanisms import SCRAM_NUMBERS
from penstock.core.metadata.scram import credential_record
from penstock.core.node.quorum.bootstrap import bootstrap_checkpoint
from penstock.core.sasl.scram import ITERATIONS_MAX, ITERATIONS_MIN, salted
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import UserScramCredentialRecord

SALT_BYTES: Final = 24
_FORM: Final = 'it is SCRAM-SHA-512=[name=NAME,password=PASSWORD], perhaps with iterations=NUMBER and salt="BASE64"'
_KNOWN: Final = frozenset({"name", "password", "iterations", "salt", "saltedpassword"})


def bootstrap_of(users: list[str] | None) -> bytes | None:
    """The file with the first users; None if there are none."""
    records: list[StoredRecord] = [first_user(each) for each in users or ()]
    return bootstrap_checkpoint(records, int(time.time() * 1000)) if records else None


def first_user(text: str) -> UserScramCredentialRecord:
    """What was said of one."""
    mechanism, _, rest = text.partition("=")
    match = re.fullmatch(r"\[(.*)\]", rest.strip(), re.DOTALL)
    if mechanism not in SCRAM_NUMBERS or match is None:
        raise Misused(f"--add-scram: {mechanism!r} is no mechanism with its user", _FORM)
    given = dict(re.findall(r'\s*([a-z]+)=("[^"]*"|[^,]*)(?:,|$)', match[1]))
    values = {name: value.strip('"') for name, value in given.items()}
    if not values.get("name") or not (values.get("password") or values.get("saltedpassword")) or values.keys() - _KNOWN:
        raise Misused("--add-scram: a user has a name and a password", _FORM)
    return record_of(mechanism, values)


def record_of(mechanism: str, values: dict[str, str]) -> UserScramCredentialRecord:
    iterations = int(values["iterations"]) if values.get("iterations", "").isdecimal() else ITERATIONS_MIN
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise Misused(f"--add-scram: {iterations} iterations", f"there are {ITERATIONS_MIN} to {ITERATIONS_MAX}")
    salt = b64decode(values["salt"]) if "salt" in values else os.urandom(SALT_BYTES)
    if "saltedpassword" in values:
        secret = b64decode(values["saltedpassword"])
    else:
        secret = salted(mechanism, values["password"], salt, iterations)
    return credential_record(values["name"], mechanism, salt, secret, iterations)
