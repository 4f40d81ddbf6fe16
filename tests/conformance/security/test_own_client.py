"""Our own client and the commands, at nodes that encrypt and ask who it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, Unreachable
from penstock.client.security import security_of
from penstock.tls.contexts import client_context, server_context
from penstock.tls.settings import Store
from tests.conformance.security.nodes import PASSWORD, Nodes, environment, plain, scram
from tests.tls.certificates import STORE_PASSWORD, Files, files
from tests.tls.shaking import shake

pytestmark = [pytest.mark.client]

SETTINGS = {
    "listeners": "CLIENTS://localhost:@,MUTUAL://localhost:%,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,MUTUAL:SSL,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.clients.plain.sasl.jaas.config": plain("alice", PASSWORD),
    "listener.name.clients.scram-sha-512.sasl.jaas.config": scram("node", PASSWORD),
    "listener.name.mutual.ssl.client.auth": "required",
    "connections.max.reauth.ms": "3000",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files(tmp_path_factory.mktemp("own"), "node")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, own: Files) -> Iterator[Nodes]:
    stores = {"ssl.keystore.location": own.pem, "ssl.truststore.location": own.ca}
    with Nodes(tmp_path_factory.mktemp("node"), {**SETTINGS, **stores}) as node:
        node.wait()
        yield node


def sasl(own: Files, mechanism: str = "SCRAM-SHA-512", password: str = PASSWORD) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": own.ca,
    }


def mutual(own: Files) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.location": own.trust12,
        "ssl.truststore.password": STORE_PASSWORD,
        "ssl.keystore.location": own.pkcs12,
        "ssl.keystore.password": STORE_PASSWORD,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_with_a_name_and_a_password(node: Nodes, own: Files, mechanism: str) -> None:
    with Client(node.bootstrap, security=security_of(sasl(own, mechanism))) as client:
        Admin(client).create_topic(f"own-{mechanism}", 1)
        first = client.link()
        assert any(topic.name == f"own-{mechanism}" for topic in client.topics())
        assert client.link() is first, "a link that is well is used again"


def test_with_a_certificate(node: Nodes, own: Files) -> None:
    with Client(f"localhost:{node.inner_port}", security=security_of(mutual(own))) as client:
        assert client.topics() is not None


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"sasl.password": "guessed"}, "does not let us in: Authentication failed"),
        ({"sasl.mechanism": "GSSAPI"}, "Kerberos is not supported"),
        ({"sasl.username": None}, "needs a name and a password"),
        ({"ssl.truststore.location": None}, "is not to be trusted"),
        ({"ssl.truststore.location": "/nowhere"}, "cannot read /nowhere"),
        ({"security.protocol": "TLS"}, "security.protocol is one of"),
    ],
)
def test_what_is_wrong_is_said_at_once(node: Nodes, own: Files, changes: dict[str, str | None], complaint: str) -> None:
    settings = {name: value for name, value in {**sasl(own), **changes}.items() if value is not None}
    with pytest.raises(ClientError) as error, Client(node.bootstrap, security=security_of(settings)) as client:
        client.topics()
    assert complaint in str(error.value)
    assert PASSWORD not in str(error.value)
    assert not error.value.is_transient


def test_a_plain_client_is_not_let_in(node: Nodes) -> None:
    with pytest.raises(Unreachable), Client(node.bootstrap, timeout=2.0) as client:
        client.refresh(())


def run(*words: str, input: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "penstock.cli.main", *words],
        input=input,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_commands_take_a_file(node: Nodes, own: Files, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    lines = {**sasl(own), "bootstrap.servers": node.bootstrap}
    config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    get_in = ("--command-config", str(config))
    run("topic", "create", "from-the-command-line", *get_in)
    names = [topic["topic"] for topic in json.loads(run("topic", "list", "--output", "json", *get_in))]
    assert "from-the-command-line" in names
    run("produce", "from-the-command-line", *get_in, input="one\ntwo\n")
    assert run("consume", "from-the-command-line", "--from", "earliest", *get_in).split() == ["one", "two"]
    read = run("consume", "from-the-command-line", "--from", "earliest", "--group", "g", *get_in)
    assert read.split() == ["one", "two"]


def test_commands_take_properties(node: Nodes, own: Files) -> None:
    run("topic", "create", "by-properties", "--command-config", _file(own, node))
    properties = [part for name, value in mutual(own).items() for part in ("--property", f"{name}={value}")]
    where = ("--bootstrap", f"localhost:{node.inner_port}")
    run("produce", "by-properties", *where, *properties, input="three\n")
    assert run("consume", "by-properties", "--from", "earliest", *where, *properties).split() == ["three"]
    read = run("consume", "by-properties", "--from", "earliest", "--group", "h", *where, *properties)
    assert read.split() == ["three"]


def _file(own: Files, node: Nodes) -> str:
    path = Path(own.ca).with_name("client.properties")
    lines = {**sasl(own), "bootstrap.servers": node.bootstrap}
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return str(path)


def test_users_are_managed(node: Nodes, own: Files) -> None:
    admin = ("--command-config", _file(own, node))
    generated = run("user", "add", "carol", "--generate", "--mechanism", "SCRAM-SHA-256", *admin).strip()
    carol = {**sasl(own, "SCRAM-SHA-256", generated), "sasl.username": "carol"}
    with Client(node.bootstrap, security=security_of(carol)) as client:
        client.topics()
    listed = {each["user"]: each["mechanisms"] for each in json.loads(run("user", "list", "--output", "json", *admin))}
    assert listed["carol"] == {"SCRAM-SHA-256": 8192}
    assert listed["alice"] == {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 4096}
    run("user", "password", "carol", *admin, input="another one\n")
    with Client(node.bootstrap, security=security_of({**carol, "sasl.password": "another one"})) as client:
        client.topics()
    run("user", "delete", "carol", *admin)
    assert "carol" in run("user", "list", *admin)
    run("user", "delete", "carol", "--execute", *admin)
    assert "carol" not in run("user", "list", *admin)


def test_a_laptop_has_an_authority(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("store\n")
    here = ("--dir", str(tmp_path))
    run("cert", "ca", *here)
    run("cert", "issue", "node-1", "--host", "localhost", "--pkcs12-password-file", str(password), *here)
    tls = security_of(
        {
            "security.protocol": "SSL",
            "ssl.keystore.location": str(tmp_path / "node-1.p12"),
            "ssl.keystore.password": "store",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
        }
    ).tls
    assert tls is not None
    pem = tls._replace(keys=Store("PEM", str(tmp_path / "node-1.pem")), client_auth="required")
    assert shake(server_context(pem), client_context(tls)) == ("TLSv1.3", "CN=node-1", "CN=node-1")
    for secret in ("ca-key.pem", "node-1.pem", "node-1.p12"):
        assert (tmp_path / secret).stat().st_mode & 0o077 == 0
