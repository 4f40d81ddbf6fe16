"""franz-go's members of a share group, many at a time: each record is accepted once, or rejected, by one of them."""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from penstock.testing import Broker
from tests.conformance.share_groups.groups import SECONDS_MAX, configure, create_topic, publish
from tests.kafka_peer.libs import CACHE, one_process_at_a_time, program
from tests.talk import complaints

pytestmark = pytest.mark.soak
MODULE = Path(__file__).resolve().parent / "franz"
BUILD_SECONDS_MAX = 300
RECORDS = 5_000
MEMBERS = 8


def built() -> Path:
    home = CACHE / "franz-go"
    home.mkdir(parents=True, exist_ok=True)
    binary = home / "sharing"
    with one_process_at_a_time(home / "lock"):
        command = [program("go"), "build", "-o", str(binary), "."]
        done = subprocess.run(
            command, cwd=MODULE, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX, check=False
        )
    assert done.returncode == 0, done.stderr
    return binary


def fate_of(number: int) -> list[tuple[str, int]]:
    """What is to become of a record: the words of the program, and how often it was delivered then."""
    if number % 11 == 0:
        return [("rejected", 1)]
    return [("released", 1), ("accepted", 2)] if number % 7 == 0 else [("accepted", 1)]


def test_each_record_is_settled_once() -> None:
    with Broker(beside=True) as broker:
        create_topic(broker.bootstrap, "work", 3)
        configure(broker.bootstrap, "work")
        publish(broker.bootstrap, "work", RECORDS)
        seen: dict[int, list[tuple[str, int]]] = defaultdict(list)
        left = Counter(word for number in range(RECORDS) for word, _ in fate_of(number)).total()
        command = [str(built()), broker.bootstrap, "work", "work", str(MEMBERS)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as members:
            assert members.stdout is not None
            while left:
                word, number, deliveries = members.stdout.readline().split()
                seen[int(number)].append((word, int(deliveries)))
                left -= 1
            more, errors = members.communicate(timeout=SECONDS_MAX)
        assert (more, errors) == ("", "")
        assert {number: said for number, said in seen.items() if sorted(said) != sorted(fate_of(number))} == {}
        assert complaints(broker) == []
