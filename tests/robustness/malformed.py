"""Frames that no good client sends, from a seed: noise, cut and bent requests, lengths that lie."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

from penstock.core.apis.table import load_apis
from penstock.core.wire.frames import encode_request_header, request_frame
from penstock.core.wire.schema import Request
from tests.wire.arbitrary import Arbitrary

HUGE_COUNTS = (0x7FFFFFFF, 0x7FFFFFF0, 0x00FFFFFF, -2, -(2**31))
HUGE_VARINTS = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"\xff" * 9,
)


class Malformed:
    """A source of byte strings to throw at a listener. Some are whole requests with senseless contents."""

    def __init__(self, seed: int | str, *, to_strangers: bool = False) -> None:
        """Of all APIs that are served, or only of those that are served before it is known who asks."""
        self.random = Random(seed)
        self._arbitrary = Arbitrary(seed)
        self._served: list[tuple[type[Request], int]] = [
            (api.request, version)
            for api in load_apis().values()
            for version in api.versions
            if api.before_authentication or not to_strangers
        ]
        self._kinds = (
            self.noise,
            self.senseless,
            self.cut,
            self.bent,
            self.bent,
            self.huge_array,
            self.lying_size,
            self.forbidden_size,
            self.unknown,
            self.several,
        )

    def next(self) -> bytes:
        return self.random.choice(self._kinds)()

    def body(self) -> bytes:
        """A request that decodes, of any API and version that is served, with anything in it."""
        request, version = self.random.choice(self._served)
        message = self._arbitrary.message(request, version)
        parts: list[Any] = request_frame(message, request.KEY, version, self.random.getrandbits(31), "chaos")
        return b"".join(map(bytes, parts))[4:]

    def senseless(self) -> bytes:
        return framed(self.body())

    def noise(self) -> bytes:
        data = self.random.randbytes(self.random.choice((1, 3, 4, 8, 20, 300, 5000)))
        return framed(data) if self.random.random() < 0.5 else data

    def cut(self) -> bytes:
        body = self.body()
        return framed(body[: self.random.randrange(len(body))])

    def bent(self) -> bytes:
        """A request in which some bytes are others. The header stays, or all would end there."""
        body = bytearray(self.body())
        for _ in range(self.random.randint(1, 8)):
            body[self.random.randrange(min(8, len(body) - 1), len(body))] = self.random.getrandbits(8)
        return framed(bytes(body))

    def huge_array(self) -> bytes:
        """A count or length in the middle of a request that claims more than there is in the world."""
        request, version = self.random.choice(self._served)
        header = encode_request_header(request.KEY, version, 1, "chaos")
        lead = self.random.randbytes(self.random.choice((0, 2, 4, 7, 15)))
        count = self.random.choice((*(struct.pack(">i", each) for each in HUGE_COUNTS), *HUGE_VARINTS))
        return framed(header + lead + count + self.random.randbytes(self.random.choice((0, 10, 1000))))

    def lying_size(self) -> bytes:
        """The frame ends before or after where its size says."""
        body = self.body()
        size = max(0, len(body) + self.random.choice((-7, -1, 1, 100, 1 << 20, 90 << 20)))
        return struct.pack(">i", size) + body

    def forbidden_size(self) -> bytes:
        return struct.pack(">i", self.random.choice((-1, -(2**31), 0x7FFFFFFF, (100 << 20) + 1))) + self.body()

    def unknown(self) -> bytes:
        """An API or a version that nobody serves."""
        key = self.random.choice((self.random.randint(-(2**15), 2**15 - 1), self.random.randint(0, 95)))
        head = struct.pack(">hhih", key, self.random.choice((-1, 0, 1, 99, 32767)), 1, -1)
        return framed(head + self.random.randbytes(20))

    def several(self) -> bytes:
        return b"".join(self.random.choice((self.senseless, self.bent))() for _ in range(5))


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
