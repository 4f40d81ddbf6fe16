"""Records as hypothesis draws them, and hands to break a batch with a checksum that still fits."""

from struct import pack_into

from hypothesis import strategies as st

from penstock.core.records import checksum
from penstock.core.records.batch import CRC_AT

TIMESTAMP_MAX = 1 << 45

optional_bytes = st.none() | st.binary(max_size=40) | st.integers(0, 9000).map(lambda size: b"x" * size)
headers = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3).map(tuple)
timestamps = st.just(-1) | st.integers(0, TIMESTAMP_MAX) | st.integers(1_700_000_000_000, 1_700_000_000_100)
new_records = st.tuples(optional_bytes, optional_bytes, headers, timestamps)
record_lists = st.lists(new_records, min_size=1, max_size=8)


def fix_checksum(batch: bytearray) -> bytearray:
    pack_into(">I", batch, CRC_AT, checksum.compute(batch, 0, len(batch)))
    return batch
