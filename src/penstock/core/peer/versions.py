"""Which version of each API two sides speak: the highest that both know."""

from collections.abc import Mapping

from penstock.core.peer.errors import UnsupportedByPeer
from penstock.core.wire.api.api_versions import ApiVersionsResponse
from penstock.core.wire.schema import Request


class PeerVersions:
    """What the other side offered in its answer to ApiVersions."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Mapping[int, range]) -> None:
        self._ranges = dict(ranges)

    @classmethod
    def of(cls, answer: ApiVersionsResponse) -> "PeerVersions":
        return cls({api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys})

    def offered(self, key: int) -> range | None:
        return self._ranges.get(key)

    def all(self) -> Mapping[int, range]:
        return self._ranges

    def pick(self, request: type[Request], newest: int | None = None) -> int:
        """The highest common version, not above `newest` if that is given."""
        ours = request.VERSIONS if newest is None else range(request.VERSIONS.start, newest + 1)
        theirs = self._ranges.get(request.KEY)
        if theirs is not None:
            version = min(ours.stop, theirs.stop) - 1
            if version >= max(ours.start, theirs.start):
                return version
        raise UnsupportedByPeer(request.__name__.removesuffix("Request"), ours, theirs)
