"""The checker sees what it is there for: each kind of damage is planted once."""

import struct
from pathlib import Path

import pytest

from tests.chaos.checker import Found, complaints_about_records, complaints_about_replicas
from tests.chaos.load import Ack

VALUES = [b"0:%d:%d:." % (key, number) for number in (1, 2) for key in (1, 2)]
FOUND = [Found(0, offset, value) for offset, value in enumerate(VALUES)]
ACKS = [Ack(0, offset, value, 0.0) for offset, value in enumerate(VALUES)]


def words(complaints: list[str]) -> list[str]:
    return [complaint.partition(":")[0] for complaint in complaints]


def test_nothing_is_wrong() -> None:
    assert complaints_about_records(ACKS, FOUND) == []
    assert complaints_about_records(ACKS[:2], FOUND) == [], "what was not acknowledged may be there"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (FOUND[:3], ["lost"]),
        ([*FOUND[:3], Found(0, 3, b"0:2:9:.")], ["lost", "hole"]),
        ([*FOUND, Found(0, 4, VALUES[3])], ["twice"]),
        ([*FOUND, Found(0, 4, VALUES[1])], ["out of order"]),
    ],
)
def test_damage_to_records(found: list[Found], expected: list[str]) -> None:
    assert words(complaints_about_records(ACKS, found)) == expected


def batch(base_offset: int, records: int, filler: bytes = b"\0") -> bytes:
    head = struct.pack(">qiibIhi", base_offset, 61 - 12, 0, 2, 0, 0, records - 1)
    return head + filler * (61 - len(head))


def replicas(folder: Path, *logs: list[bytes]) -> list[Path]:
    """Folders of replicas; the first batch of each may have a segment of its own."""
    made = []
    for number, segments in enumerate(logs):
        made.append(folder / f"replica-{number}")
        made[-1].mkdir()
        for at, data in enumerate(segments):
            (made[-1] / f"{at:020}.log").write_bytes(data)
    return made


def test_equal_replicas_may_have_other_segments(tmp_path: Path) -> None:
    one, two = batch(0, 5), batch(5, 2)

    assert complaints_about_replicas(replicas(tmp_path, [one + two], [one, two]), 2) == []


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ([[batch(0, 5)]], ["1 replicas instead of 2"]),
        ([[batch(0, 5)], [batch(0, 5, b"\1")]], ["differ"]),
        ([[batch(0, 5) + batch(5, 1)], [batch(0, 5)]], ["differ"]),
        ([[batch(0, 5)], [batch(0, 5) + b"torn"]], ["differ"]),
        ([[batch(0, 5) + batch(6, 1)]] * 2, ["offsets"]),
        ([[batch(0, 5) + b"torn"]] * 2, ["offsets"]),
    ],
)
def test_damage_to_files(tmp_path: Path, logs: list[list[bytes]], expected: list[str]) -> None:
    assert words(complaints_about_replicas(replicas(tmp_path, *logs), 2)) == expected
