"""Our side of SCRAM against the other side of an independent library, both ways."""

from __future__ import annotations

import pytest
import scramp
from scramp import ScramException, ScramMechanism

from penstock.core.base.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.sasl.mechanisms import AuthenticationFailed
from penstock.core.sasl.scram import Credential, Known, ScramClient, ScramServer, credential, salted

SALT = b"a salt of the tests"
USER, PASSWORD = "alice", "pencil"


def known(mechanism: str) -> Credential:
    return credential(mechanism, salted(mechanism, PASSWORD, SALT, 4096), SALT, 4096)


@pytest.mark.parametrize("mechanism", [SCRAM_SHA_256, SCRAM_SHA_512])
@pytest.mark.parametrize("password", [PASSWORD, "guessed"])
def test_their_client_at_our_server(mechanism: str, password: str) -> None:
    theirs = scramp.ScramClient([mechanism], USER, password)
    ours = ScramServer(
        mechanism, "nonce", lambda user, _: Known(known(mechanism), user) if user == USER else None, b"secret"
    )
    theirs.set_server_first(ours.respond(theirs.get_client_first().encode()).decode())
    proof = theirs.get_client_final().encode()
    if password == PASSWORD:
        theirs.set_server_final(ours.respond(proof).decode())
        assert ours.user == USER
    else:
        with pytest.raises(AuthenticationFailed):
            ours.respond(proof)


@pytest.mark.parametrize("mechanism", [SCRAM_SHA_256, SCRAM_SHA_512])
@pytest.mark.parametrize("password", [PASSWORD, "guessed"])
def test_our_client_at_their_server(mechanism: str, password: str) -> None:
    found = known(mechanism)
    kept = (found.salt, found.stored_key, found.server_key, found.iterations)
    assert kept == ScramMechanism(mechanism).make_auth_info(PASSWORD, 4096, SALT)
    theirs = ScramMechanism(mechanism).make_server(lambda user: kept)
    ours = ScramClient(mechanism, USER, password, "nonce")
    theirs.set_client_first(ours.respond(b"").decode())
    proof = ours.respond(theirs.get_server_first().encode()).decode()
    if password == PASSWORD:
        theirs.set_client_final(proof)
        ours.respond(theirs.get_server_final().encode())
        assert ours.is_complete
    else:
        with pytest.raises(ScramException):
            theirs.set_client_final(proof)
