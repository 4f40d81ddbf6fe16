"""Arrow's arrays of bytes as numpy sees them: one block of data, and where each cell starts and ends in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.spark.rows.varints import Bytes, Flags, Numbers


class Binary(NamedTuple):
    """Cells of bytes; a missing one is as long as an empty one."""

    data: Bytes
    starts: Numbers
    ends: Numbers
    missing: Flags

    @classmethod
    def of(cls, array: pa.Array) -> Binary:
        """Of a binary array, sliced or not."""
        _, edges, data = array.buffers()
        first, count = array.offset, len(array)
        bounds = np.frombuffer(edges, np.int32)[first : first + count + 1] if count else np.zeros(1, np.int32)
        starts, ends = bounds[:-1].astype(np.int64), bounds[1:].astype(np.int64)
        missing = array.is_null().to_numpy(zero_copy_only=False)
        ends = np.where(missing, starts, ends) if array.null_count else ends
        return cls(np.frombuffer(data or b"", np.uint8), starts, ends, missing)


def binary_array(data: Bytes | memoryview | bytes, bounds: Numbers) -> pa.Array:
    """The array whose cells stand behind each other in a block of data."""
    edges = pa.py_buffer(bounds.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, edges, pa.py_buffer(data)])
