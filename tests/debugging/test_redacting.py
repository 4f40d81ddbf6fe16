"""What has the form of a secret, or is one that is known, does not pass; what is none does."""

from __future__ import annotations

import pytest

from penstock.cli.debugging.redacting import HIDDEN, Redactor, is_harmless

SECRET = "gr33n-Tea_9"
FORMS = (
    "password={}",
    "Password: {}",
    '"password": "{}"',
    "'client_secret' : '{}'",
    "ssl.key.password={}",
    "aws_secret_access_key={}",
    "sasl.jaas.config=x.ScramLoginModule required password={}",
    'username="ann" password="{}";',
    "Authorization: Bearer {}",
    "authorization=Basic {}",
    "Bearer {}",
    "--password {}",
    "--admin-token={}",
    "https://ann:{}@registry:8081/subjects",
    "accessToken={}",
    "api_key={}",
    "delegation.token.secret.key = {}",
    '{{"token":"{}","of":"ann"}}',
    "salt={}",
    "hmac={}",
    "passphrase: {}",
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n{}",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIi.{}",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_a_secret_does_not_pass(form: str) -> None:
    text = Redactor()(f"before {form.format(SECRET)} behind")
    assert SECRET not in text
    assert HIDDEN in text
    assert text.startswith("before ")


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00.000 info quorum leader=1 epoch=3",
        'kafka_server_brokertopicmetrics_messagesin_total{topic="tokens-of-users"} 17',
        "topic passwords has 3 partitions",
        "delegation.token.max.lifetime.ms=604800000",
        '{"key": "value", "partition": 3}',
        "http://127.0.0.1:8081/subjects",
        '"ssl.key.password": null',
    ],
)
def test_what_is_no_secret_passes(text: str) -> None:
    assert Redactor()(text) == text


def test_settings_are_shown_if_they_are_known() -> None:
    redact = Redactor()
    jaas = f'org.apache.kafka.ScramLoginModule required username="node" password="{SECRET}";'
    shown = redact.settings(f"node.id=7\nssl.key.password=q\nmy.own.plugin={SECRET}-2\nsasl.jaas.config={jaas}\n")
    assert shown.splitlines() == [
        "node.id=7",
        f"ssl.key.password={HIDDEN}",
        f"my.own.plugin={HIDDEN}",
        f"sasl.jaas.config={HIDDEN}",
    ]
    # From then on, these are secrets wherever they stand.
    assert redact(f"and then it said {SECRET}-2, or {SECRET}.") == f"and then it said {HIDDEN}, or {HIDDEN}."
    assert redact("required node true") == "required node true"


@pytest.mark.parametrize("value", ["true", "17", "org.Plugin", "SASL_SSL", "wH4t-1s"])
def test_what_nobody_knows_is_hidden_and_words_stay_words(value: str) -> None:
    redact = Redactor()
    assert redact.settings(f"my.own.plugin={value}\n") == f"my.own.plugin={HIDDEN}\n"
    assert (value not in redact(f"it is {value} here")) == (value == "wH4t-1s")


def test_settings_that_cannot_be_read_are_left_out() -> None:
    assert SECRET not in Redactor().settings(f"password={SECRET}\\u00zz")


def test_harmless_is_what_is_known() -> None:
    assert is_harmless("log.dirs")
    assert not is_harmless("ssl.keystore.password")
    assert not is_harmless("listener.name.internal.scram-sha-512.sasl.jaas.config")
    assert not is_harmless("who.knows")


def test_a_client_says_how_it_gets_in_and_only_that_is_hidden() -> None:
    redact = Redactor()
    redact.client({"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.password": SECRET})
    assert redact(f"SASL_SSL SCRAM-SHA-512 {SECRET}") == f"SASL_SSL SCRAM-SHA-512 {HIDDEN}"


def test_what_is_hidden_is_hidden_once() -> None:
    once = f"sasl.jaas.config={HIDDEN}\n" + '{"ssl.key.password": "[hidden]"}'
    assert Redactor()(once) == once
