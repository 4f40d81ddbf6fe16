"""The ways a conversation with a broker ends early."""

from penstock.core.base.errors import PenstockError


class PeerError(PenstockError):
    """The other side broke the protocol: the connection is of no further use."""


class UnsupportedByPeer(PenstockError):
    """The two sides have no version of an API in common; the connection stays usable."""

    def __init__(self, api: str, ours: range, theirs: range | None) -> None:
        offered = "not at all" if theirs is None else f"in versions {theirs.start}-{theirs.stop - 1}"
        super().__init__(f"the broker knows {api} {offered}; needed: {ours.start}-{ours.stop - 1}")
        self.api = api
