"""A group must live where Kafka would put it, or moved data is not found."""

import pytest

from penstock.core.groups.routing import partition_for_group


@pytest.mark.parametrize(
    ("group_id", "java_hash"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("console-consumer-12345", None),
        ("polygenelubricants", -(2**31)),  # The one whose absolute value does not fit.
        ("Aa", 2112),
        ("BB", 2112),
        ("\U0001f600", 1772899),  # Two UTF-16 units.
    ],
)
def test_partition_by_java_hash(group_id: str, java_hash: int | None) -> None:
    expected = _by_definition(group_id) if java_hash is None else java_hash
    positive = 0 if expected == -(2**31) else abs(expected)
    assert partition_for_group(group_id, 50) == positive % 50
    assert partition_for_group(group_id, 1) == 0


def _by_definition(text: str) -> int:
    """s[0]*31^(n-1) + ... + s[n-1], as a signed 32-bit number."""
    total: int = sum(ord(letter) * 31 ** (len(text) - 1 - place) for place, letter in enumerate(text)) % 2**32
    return total - 2**32 if total >= 2**31 else total
