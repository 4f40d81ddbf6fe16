"""franz-go gets in with each mechanism, over TLS, with a certificate and with tokens; and not with a wrong proof.

Go is not among the things that `make test` needs, so this belongs to the long runs.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conformance.security.nodes import PASSWORD, Nodes, plain
from tests.conformance.security.test_own_client import run
from tests.kafka_peer.libs import CACHE, one_process_at_a_time, program
from tests.oauth.provider import Provider
from tests.tls.certificates import Files, files

pytestmark = [pytest.mark.client, pytest.mark.soak]

MODULE = Path(__file__).resolve().parent / "franz"
BUILD_SECONDS_MAX = 300
SETTINGS = {
    "listeners": "CLIENTS://localhost:@,MUTUAL://localhost:%,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,MUTUAL:SSL,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": plain("alice", PASSWORD),
    "listener.name.mutual.ssl.client.auth": "required",
    "sasl.oauthbearer.expected.audience": "kafka",
    "sasl.oauthbearer.expected.issuer": "https://idp",
    "delegation.token.secret.key": "a secret of the tests",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
}


class Town(NamedTuple):
    nodes: Nodes
    own: Files
    provider: Provider
    program: Path

    def talks(self, name: str, *words: str, port: int | None = None) -> subprocess.CompletedProcess[str]:
        where = f"localhost:{port}" if port else self.nodes.bootstrap
        command = [str(self.program), f"-bootstrap={where}", f"-topic=t-{name}", f"-ca={self.own.ca}", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("franz")
    own = files(folder, "node")
    stores = {"ssl.keystore.location": own.pem, "ssl.truststore.location": own.ca}
    with Provider() as provider:
        keys = {"sasl.oauthbearer.jwks.endpoint.url": provider.keys_url}
        with Nodes(folder, {**SETTINGS, **stores, **keys}) as nodes:
            nodes.wait()
            yield Town(nodes, own, provider, built())


def built() -> Path:
    """Built once; Go looks itself whether anything has changed."""
    home = CACHE / "franz-go"
    home.mkdir(parents=True, exist_ok=True)
    target = home / "security"
    with one_process_at_a_time(home / "lock"):
        command = [program("go"), "build", "-o", str(target), "."]
        done = subprocess.run(
            command, cwd=MODULE, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX, check=False
        )
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_with_a_password(town: Town, mechanism: str) -> None:
    words = (f"-mechanism={mechanism}", "-user=alice")
    done = town.talks(mechanism, *words, f"-password={PASSWORD}")
    assert done.stdout.strip() == "fg", done.stderr
    refused = town.talks(mechanism, *words, "-password=guessed")
    assert refused.returncode == 1
    assert "SASL_AUTHENTICATION_FAILED" in refused.stderr


def test_with_a_certificate(town: Town) -> None:
    shown = (f"-certificate={town.own.certificate}", f"-key={town.own.key}")
    done = town.talks("mutual", *shown, port=town.nodes.inner_port)
    assert done.stdout.strip() == "fg", done.stderr


def test_with_a_signed_token(town: Town) -> None:
    done = town.talks("signed", "-mechanism=OAUTHBEARER", f"-password={town.provider.token()}")
    assert done.stdout.strip() == "fg", done.stderr
    refused = town.talks("signed", "-mechanism=OAUTHBEARER", f"-password={town.provider.token(aud='billing')}")
    assert refused.returncode == 1


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_with_a_delegation_token(town: Town, tmp_path: Path, mechanism: str) -> None:
    config = tmp_path / "alice.properties"
    lines = {
        "bootstrap.servers": town.nodes.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": town.own.ca,
    }
    config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    made = json.loads(run("token", "create", "--output", "json", "--command-config", str(config)))
    words = (f"-mechanism={mechanism}", "-token", f"-user={made['token']}")
    done = town.talks(f"token-{mechanism}", *words, f"-password={made['hmac']}")
    assert done.stdout.strip() == "fg", done.stderr
    assert town.talks("token", *words, "-password=guessed").returncode == 1
