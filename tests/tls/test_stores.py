"""Stores in all their forms, and what is said of one that cannot be used."""

from __future__ import annotations

import builtins
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.tls.authority import Issued, issue
from penstock.tls.contexts import client_context, server_context
from penstock.tls.names import distinguished_name
from penstock.tls.settings import Store, TlsError, TlsSettings
from tests.tls.certificates import STORE_PASSWORD, Files, authority, files, stranger
from tests.tls.shaking import shake

BOTH = ("TLSv1.2", "TLSv1.3")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files(tmp_path_factory.mktemp("stores"), "node")


def settings(keys: Store, trust: Store, client_auth: str = "none") -> TlsSettings:
    return TlsSettings(keys, trust, BOTH, client_auth)


def text(path: str) -> str:
    return Path(path).read_text()


def test_every_form_of_keystore_and_truststore(node: Files) -> None:
    one_line = " ".join(text(node.pem).split("\n"))
    keys = [
        Store("PEM", node.pem),
        Store("PEM", None, None, text(node.certificate), text(node.key)),
        Store("PEM", None, None, one_line.partition("-----BEGIN CERT")[1] + one_line.partition("-----BEGIN CERT")[2],
              one_line.partition("-----BEGIN CERT")[0]),
        Store("PKCS12", node.pkcs12, STORE_PASSWORD),
    ]  # fmt: skip
    trusts = [
        Store("PEM", node.ca),
        Store("PEM", None, None, text(node.ca)),
        Store("PKCS12", node.trust12, STORE_PASSWORD),
        Store("JKS", node.trust12, STORE_PASSWORD),
    ]
    for own in keys:
        for trust in trusts:
            found = shake(server_context(settings(own, trust, "required")), client_context(settings(own, trust)))
            assert found is not None
            assert found == ("TLSv1.3", "CN=node", "CN=node")


@pytest.mark.parametrize(("of", "host", "is_let_in"), [(authority, "localhost", True), (authority, "elsewhere", False),
                                                      (stranger, "localhost", False)])  # fmt: skip
def test_who_is_believed(node: Files, tmp_path: Path, of: Any, host: str, is_let_in: bool) -> None:
    other = files(tmp_path, "other", of())
    server = server_context(settings(Store("PEM", other.pem), Store("PEM", other.ca)))
    found = shake(server, client_context(settings(Store("PEM"), Store("PEM", node.ca))), host)
    assert (found is not None) is is_let_in


@pytest.mark.parametrize("of", [authority, stranger])
def test_whose_certificate_is_wanted(node: Files, tmp_path: Path, of: Any) -> None:
    other = files(tmp_path, "other", of())
    wanting = server_context(settings(Store("PEM", node.pem), Store("PEM", node.ca), "required"))
    showing = client_context(settings(Store("PEM", other.pem), Store("PEM", node.ca)))
    assert (shake(wanting, showing) is not None) is (of is authority)
    silent = client_context(settings(Store("PEM"), Store("PEM", node.ca)))
    assert shake(wanting, silent) is None
    asking = server_context(settings(Store("PEM", node.pem), Store("PEM", node.ca), "requested"))
    found = shake(asking, silent)
    assert found is not None
    assert found.client is None


def test_a_client_cannot_ask_for_another_handshake(node: Files) -> None:
    server = server_context(settings(Store("PEM", node.pem), Store("PEM", node.ca)))
    assert server.options & ssl.OP_NO_RENEGOTIATION


def test_nothing_older_than_tls_1_2_is_spoken(node: Files) -> None:
    server = server_context(settings(Store("PEM", node.pem), Store("PEM", node.ca)))
    client = client_context(settings(Store("PEM"), Store("PEM", node.ca)))
    client.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        client.maximum_version = ssl.TLSVersion.TLSv1_1
    assert shake(server, client) is None


@pytest.mark.parametrize(
    ("store", "complaint"),
    [
        (Store("PEM", "/nowhere"), "cannot read /nowhere: No such file"),
        (Store("PKCS12", "{pkcs12}", "guessed"), "its password is another one"),
        (Store("PKCS12", "{pem}", "x"), "set its type to PEM"),
        (Store("BKS", "{pkcs12}", "x"), "the type BKS"),
        (Store("PEM", "{ca}"), "has 0 keys and 1 certificates"),
        (Store("PEM", None, None, "nonsense", "nonsense"), "has 0 keys and 0 certificates"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(node: Files, store: Store, complaint: str) -> None:
    if store.location:
        store = store._replace(location=store.location.format(**node._asdict()))
    with pytest.raises(TlsError) as error:
        server_context(settings(store, Store("PEM")))
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)
    assert "guessed" not in str(error.value)


def test_a_key_of_somebody_else(node: Files) -> None:
    key = issue(authority(), "another").key
    with pytest.raises(TlsError, match="key values mismatch"):
        server_context(settings(Store("PEM", None, None, text(node.certificate), key), Store("PEM")))


@pytest.mark.java
def test_jks_is_refused_with_the_line_that_converts_it(node: Files, tmp_path: Path) -> None:
    """And that line does."""
    assert shutil.which("keytool"), "it comes with Java"
    jks = tmp_path / "store.jks"
    made = ("keytool", "-importkeystore", "-noprompt", "-srckeystore", node.pkcs12, "-srcstorepass", STORE_PASSWORD)
    into = ("-destkeystore", str(jks), "-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD)
    subprocess.run([*made, *into], check=True, capture_output=True)
    with pytest.raises(TlsError) as error:
        server_context(settings(Store("JKS", str(jks), STORE_PASSWORD), Store("PEM")))
    line = str(error.value).partition(": ")[2].partition(", and")[0]
    assert line.startswith("keytool -importkeystore")
    secrets = ("-noprompt", "-srcstorepass", STORE_PASSWORD, "-deststorepass", STORE_PASSWORD)
    subprocess.run([*line.split(), *secrets], check=True, capture_output=True)
    server_context(settings(Store("PKCS12", f"{jks}.p12", STORE_PASSWORD), Store("PEM")))


def test_without_cryptography_pem_goes_and_pkcs12_says_what_to_install(
    node: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return usual(name, *rest, **named)

    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    server_context(settings(Store("PEM", node.pem), Store("PEM")))
    with pytest.raises(TlsError, match=r"pip install 'penstock\[security\]'"):
        server_context(settings(Store("PKCS12", node.pkcs12, STORE_PASSWORD), Store("PEM")))


def test_an_issued_certificate_is_short_lived_and_no_authority() -> None:
    made = issue(authority(), "leaf")
    below = issue(Issued(made.certificate, made.key), "below", ("localhost",))
    server = server_context(
        settings(Store("PEM", None, None, below.certificate + made.certificate, below.key), Store("PEM"))
    )
    client = client_context(settings(Store("PEM"), Store("PEM", None, None, authority().certificate)))
    assert shake(server, client) is None


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (
            ((("countryName", "DE"),), (("organizationName", "A, B"),), (("commonName", "alice"),)),
            "CN=alice,O=A\\, B,C=DE",
        ),
        (((("commonName", " #x "),),), "CN=\\ #x\\ "),
        (((("userId", "u"), ("commonName", "c")),), "UID=u+CN=c"),
        (((("emailAddress", "a@b"),), (("commonName", "c"),)), "CN=c,1.2.840.113549.1.9.1=#1603614062"),
    ],
)
def test_names_are_written_as_java_does(subject: Any, name: str) -> None:
    assert distinguished_name({"subject": subject}) == name
