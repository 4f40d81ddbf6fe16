"""The compiled checksum, found without its package: the same function, and what to do when it is not found."""

import crc32c as package
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base import crc32c as ours


@given(st.binary(max_size=300))
def test_it_is_the_packages_checksum(data: bytes) -> None:
    assert ours.crc32c(data) == package.crc32c(data)
    assert ours.crc32c(memoryview(data)) == package.crc32c(data)


def test_the_compiled_part_is_found_and_the_package_can_stand_in() -> None:
    compiled = ours._compiled()
    assert compiled is not None
    assert compiled(b"123456789") == ours._packaged()(b"123456789") == 0xE3069283
