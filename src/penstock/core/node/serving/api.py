"""One API as one value: its versions, where it runs, who answers it, what it touches, and how it is refused.

Nothing else in the house knows an API by its number. What is advertised, forwarded, authorized, refused and documented
is read from here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from copy import copy
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from penstock.core.node.controller.deciding import Decide
from penstock.core.node.serving.access import CLUSTER_ACTION, Touches
from penstock.core.node.serving.audited import changes_something
from penstock.core.node.serving.authorizing import Authorize, by_touches
from penstock.core.wire import Message
from penstock.core.wire.frames import RequestHeader
from penstock.core.wire.refusals import Refusal, refusal
from penstock.core.wire.schema import Request

if TYPE_CHECKING:
    from penstock.core.node.serving.connection import Connection
    from penstock.core.node.serving.slots import Slot


class Pending:
    """The type of `PENDING`: the slot has been parked with whoever will answer it."""


class NoReply:
    """The type of `NO_REPLY`: the protocol has no answer to this request."""


PENDING: Final = Pending()
NO_REPLY: Final = NoReply()

Answer = Message | Pending | NoReply | Generator[Any, Any, Message]
N = TypeVar("N")
"""The node that answers: whoever composes a node says which."""

Handler = Callable[[N, Any, "Slot"], Answer]
FastPath = Callable[[N, "Connection", "Api[N]", list[memoryview], int, RequestHeader], int]
"""A short way for an API's usual request, and for those like it right behind: gives how many it has served or parked, 0
when it has touched nothing."""


class Runs(Enum):
    """Where an API is answered."""

    HERE = "here"
    CONTROLLER = "controller"
    COORDINATOR = "coordinator"
    QUORUM = "quorum"


class Handling(NamedTuple, Generic[N]):
    """Who answers an API, and where."""

    handle: Handler[N]
    runs: Runs = Runs.HERE
    is_forwarded: bool = False
    """Whether a broker that is asked hands the request to the controller."""
    decide: Decide | None = None
    """What the active controller does with the request, whoever brings it."""


class Api(Generic[N]):
    """One API as the node serves it."""

    __slots__ = (
        "authorize",
        "before_authentication",
        "changes_something",
        "decide",
        "fast_path",
        "final",
        "handle",
        "is_forwarded",
        "is_of_nodes",
        "key",
        "name",
        "refuse",
        "request",
        "runs",
        "touches",
        "versions",
    )

    def __init__(
        self,
        request: type[Request],
        versions: range,
        handling: Handler[N] | Handling[N],
        touches: tuple[Touches, ...],
        *,
        refuse: Refusal = refusal,
        authorize: Authorize | None = None,
        fast_path: FastPath[N] | None = None,
        before_authentication: bool = False,
        is_of_nodes: Callable[[Any], bool] | None = None,
        final: range | None = None,
        is_a_change: bool = False,
    ) -> None:
        """`touches` says what a client must be allowed to do; how a request is judged follows from it, unless the API
        brings its own `authorize`. A handler alone answers here. What is served `before_authentication` may be asked by
        whoever has not said yet who asks. Kafka may still change those versions that are not `final`: they are served
        where `unstable.api.versions.enable` says so. `is_of_nodes` tells requests of other nodes, for which no quota is
        meant, from those of clients; without it only nodes ask what takes the right to act for the cluster.
        `is_a_change` says of a change that takes no right that it is audited as others are."""
        assert set(versions) <= set(request.VERSIONS), f"{request.__name__} is not declared in all of {versions}"
        handled: Handling[N] = handling if isinstance(handling, Handling) else Handling(handling)
        self.key = request.KEY
        self.name = request.__name__.removesuffix("Request")
        self.request = request
        self.versions = versions
        self.final = versions if final is None else final
        self.handle, self.runs, self.is_forwarded, self.decide = handled
        self.touches = touches
        self.authorize = by_touches(touches) if authorize is None else authorize
        self.refuse = refuse
        self.fast_path = fast_path
        self.before_authentication = before_authentication
        self.changes_something = is_a_change or changes_something(touches)
        only_nodes = touches is CLUSTER_ACTION
        self.is_of_nodes: Callable[[Any], bool] = is_of_nodes or (lambda request: only_nodes)

    def in_final_versions(self) -> Api[N]:
        """The same API without the versions that may still change."""
        if self.final == self.versions:
            return self
        stable = copy(self)
        stable.versions = self.final
        return stable
