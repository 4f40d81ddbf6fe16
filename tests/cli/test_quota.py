"""`penstock quota`, on running brokers."""

import json

import pytest

from tests.cli.running import Shell


def listed(penstock: Shell) -> dict[str, dict[str, float]]:
    rows = json.loads(penstock("quota", "list", "-o", "json").out)
    return {str(row.pop("entity")): row for row in rows}


def test_a_life_of_quotas(penstock: Shell) -> None:
    alice = ("--user", "alice")
    assert penstock("quota", "set", *alice, "--produce", "10M", "--fetch", "1.5k", "--request", "12.5").code == 0
    assert penstock("quota", "set", *alice, "--client-id", "*", "--mutation", "0.5").code == 0
    said = penstock("quota", "set", "--ip", "127.0.0.9", "--connections", "20")
    assert said.err.strip() == "ip 127.0.0.9: connection_creation_rate=20"
    assert listed(penstock) == {
        "{'user': 'alice'}": {"producer_byte_rate": 10 << 20, "consumer_byte_rate": 1536, "request_percentage": 12.5},
        "{'client-id': None, 'user': 'alice'}": {"controller_mutation_rate": 0.5},
        "{'ip': '127.0.0.9'}": {"connection_creation_rate": 20},
    }
    assert "user alice, client-id <default>" in penstock("quota", "list").out
    assert penstock("quota", "delete", *alice, "--only", "produce").code == 0
    assert "producer_byte_rate" not in listed(penstock)["{'user': 'alice'}"]
    assert penstock("quota", "delete", *alice).code == 0
    assert penstock("quota", "delete", *alice).code == 1
    assert penstock("quota", "delete", *alice, "--client-id", "*").code == 0
    assert penstock("quota", "delete", "--ip", "127.0.0.9").code == 0
    assert "there are no quotas" in penstock("quota", "list").err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "say whose quota"),
        (("--user", "a", "--ip", "1.1.1.1", "--connections", "1"), "an address has a quota of its own"),
        (("--user", "a"), "say how much"),
        (("--user", "a", "--connections", "1"), "--connections is for an address"),
        (("--ip", "1.1.1.1", "--produce", "1k"), "--connections is for an address"),
        (("--user", "a", "--produce", "many"), "no number of bytes"),
        (("--user", "a", "--mutation", "0"), "greater than 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(penstock: Shell, options: tuple[str, ...], word: str) -> None:
    told = penstock("quota", "set", *options)
    assert told.code == 2
    assert word in told.err
