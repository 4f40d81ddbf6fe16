"""The blocking driver: finds the right broker, asks it, and tries again while trying again can help.

One `Client` serves one thread. It keeps a link per broker, a picture of the cluster, and one rule for failures: what
`ClientError.is_transient` says may pass is tried again, with a growing pause, until the time is up.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Final, Generic, NamedTuple, TypeVar

from penstock.client.errors import ClientError, ControllersOnly, Unreachable, check
from penstock.client.link import Link
from penstock.client.metadata import NO_NODE, ClusterView, TopicPartition, TopicView
from penstock.client.security import OPEN, Security
from penstock.core.base.errors import ErrorCode
from penstock.core.peer.errors import UnsupportedByPeer
from penstock.core.wire.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.core.wire.schema import Request, Response

DEFAULT_PORT: Final = 9092
BACKOFF_SECONDS_FIRST: Final = 0.02
BACKOFF_SECONDS_MAX: Final = 1.0
# A topic that was created a moment ago may not be known to every broker yet; one that is missing stays missing.
UNKNOWN_TOPIC_SECONDS_MAX: Final = 0.3
# What one broker is given to answer, where others can be asked instead or its answer can be done without.
SOON_SECONDS: Final = 1.0
# Who has no time left hears at once that nobody has answered.
SECONDS_MIN: Final = 0.001
AUTO_CREATION_SECONDS_MAX: Final = 2.0
GROUP: Final = 0
TRANSACTION: Final = 1

R = TypeVar("R", bound=Response)
T = TypeVar("T")
Address = tuple[str, int]


class Posted(NamedTuple, Generic[R]):
    """A request that was sent, and whose answer nobody has looked at."""

    link: Link
    number: int
    response: type[R]

    def collect(self) -> R:
        """Wait for the answer."""
        return self.link.collect(self.number, self.response)


class Client:
    """A connection to a cluster, for one thread."""

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        *,
        client_id: str = "penstock",
        timeout: float = 10.0,
        patient: bool = False,
        security: Security = OPEN,
    ) -> None:
        """A person wants to hear at once that nobody answers at an address; a `patient` program tries on."""
        self._bootstrap = parse_addresses(bootstrap)
        self._client_id = client_id
        self._security = security
        self.timeout = timeout
        self._links: dict[Address, Link] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._known = patient
        self._until = inf
        self.cluster = ClusterView()

    @property
    def user(self) -> str | None:
        """As whom it logs in with a password, if it does."""
        return None if self._security.identity is None else self._security.identity.user

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All that is asked meanwhile takes so long together, and no longer than what it is a part of."""
        before = self._until
        self._until = min(before, time.monotonic() + seconds)
        try:
            yield
        finally:
            self._until = before

    def _left(self, seconds: float) -> float:
        """Of a time that something may take."""
        return max(SECONDS_MIN, min(seconds, self._until - time.monotonic()))

    # Asking

    def ask(
        self, request: Request, response: type[R], *, node: int | None = None, newest_version: int | None = None
    ) -> R:
        """The answer of a broker: of any, unless `node` names one. Fails rather than tries again."""
        return self.post(request, response, node=node, newest_version=newest_version).collect()

    def post(
        self, request: Request, response: type[R], *, node: int | None = None, newest_version: int | None = None
    ) -> Posted[R]:
        """Ask without waiting."""
        link = self.link(node)
        try:
            return Posted(link, link.post(request, response, self._left(self.timeout), newest_version), response)
        except UnsupportedByPeer as missing:
            if link.versions.offered(MetadataRequest.KEY) is None:
                raise ControllersOnly(link.address) from None
            raise ClientError(str(missing), code=ErrorCode.UNSUPPORTED_VERSION) from None

    def retry(self, attempt: Callable[[], T], *, timeout: float | None = None) -> T:
        """The value of `attempt`, tried again after failures that may pass."""
        deadline = time.monotonic() + self._left(self.timeout if timeout is None else timeout)
        for pause in _pauses():
            try:
                return attempt()
            except ClientError as failure:
                nobody_yet = isinstance(failure, Unreachable) and not self._known
                if nobody_yet or not failure.is_transient or time.monotonic() + pause > deadline:
                    raise
                self.forget_coordinators()
                time.sleep(pause)
        raise AssertionError("the pauses never end")

    def link(self, node: int | None = None) -> Link:
        """An open link to a broker: to any, unless `node` names one."""
        if node is None:
            return self._any_link()
        broker = self.cluster.brokers.get(node)
        if broker is None:
            self.refresh(())
            broker = self.cluster.brokers.get(node)
        if broker is None:
            raise ClientError(
                f"broker {node} is not there",
                code=ErrorCode.BROKER_NOT_AVAILABLE,
                hint="`penstock cluster info` lists the brokers",
            )
        return self._link_to((broker.host, broker.port))

    def _any_link(self) -> Link:
        """A link that is open already, or else to the first broker that answers."""
        linked = [address for address, link in self._links.items() if link.is_open]
        known = [(broker.host, broker.port) for broker in self.cluster.brokers.values()]
        failures = []
        for address in dict.fromkeys((*linked, *known, *self._bootstrap)):
            try:
                return self._link_to(address)
            except Unreachable as failure:
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        raise Unreachable(" or ".join(failure.address for failure in failures), "each was tried")

    def _link_to(self, address: Address) -> Link:
        link = self._links.get(address)
        if link is not None and link.is_open and not link.is_stale:
            return link
        if link is not None:
            link.close()
        link = self._links[address] = Link(*address, self._client_id, self._left(self.timeout), self._security)
        self._known = True
        return link

    # Knowing the cluster

    def refresh(self, topics: Sequence[str] | None, *, create: bool = False) -> MetadataResponse:
        """Ask for the cluster's picture: brokers, and all topics (None) or those named."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        answer = self.ask(request, MetadataResponse)
        self.cluster.take(answer, is_whole=topics is None)
        return answer

    def topic(self, name: str, *, create: bool = False, fresh: bool = False) -> TopicView:
        """One topic; created by the broker if `create` allows it."""
        known = self.cluster.topics.get(name)
        if known is not None and not fresh:
            return known
        give_up = time.monotonic() + (AUTO_CREATION_SECONDS_MAX if create else UNKNOWN_TOPIC_SECONDS_MAX)
        for pause in _pauses():
            try:
                return self.retry(lambda: self._topic(name, create))
            except ClientError as failure:
                if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or time.monotonic() > give_up:
                    raise
                time.sleep(pause)
        raise AssertionError("the pauses never end")

    def _topic(self, name: str, create: bool) -> TopicView:
        answer = self.refresh((name,), create=create)
        for topic in answer.topics:
            check(topic.error_code, f"topic {name}")
        return self.cluster.topics[name]

    def topics(self) -> list[TopicView]:
        """All topics, by name."""
        self.retry(lambda: self.refresh(None))
        return sorted(self.cluster.topics.values(), key=lambda topic: topic.name)

    def leader(self, where: TopicPartition) -> int:
        """The node that leads a partition, once there is one; raises what can be retried when there is none in time."""
        leader = _leader_in(self.topic(where.topic), where)
        return self.retry(partial(self._new_leader, where)) if leader == NO_NODE else leader

    def _new_leader(self, where: TopicPartition) -> int:
        leader = _leader_in(self.topic(where.topic, fresh=True), where)
        if leader == NO_NODE:
            check(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {where}")
        return leader

    def forget(self, topic: str) -> None:
        """Look this topic up again before it is used next: its leaders have changed."""
        self.cluster.topics.pop(topic, None)

    def controller(self) -> int | None:
        """The node that admin requests go to, or None where any will do."""
        if not self.cluster.brokers:
            self.retry(lambda: self.refresh(()))
        return None if self.cluster.controller == NO_NODE else self.cluster.controller

    def coordinator(self, key: str, kind: int = GROUP) -> int:
        """The node that coordinates a group or a transactional id."""
        if (kind, key) not in self._coordinators:
            found = self._find_coordinator(key, kind)
            check(found.error_code, f"the coordinator of {key}", found.error_message)
            self._coordinators[kind, key] = found.node_id
        return self._coordinators[kind, key]

    def forget_coordinators(self) -> None:
        """Look them up again before they are asked next: one of them has said that it is none, or nothing."""
        self._coordinators.clear()

    def _find_coordinator(self, key: str, kind: int) -> Coordinator:
        newest = self.link().versions.pick(FindCoordinatorRequest)
        if newest >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            return self.ask(request, FindCoordinatorResponse).coordinators[0]
        old = self.ask(FindCoordinatorRequest(key=key, key_type=kind), FindCoordinatorResponse)
        return Coordinator(key=key, node_id=old.node_id, error_code=old.error_code, error_message=old.error_message)


_ADDRESS: Final = "an address is HOST:PORT, for example 127.0.0.1:9092"


def parse_addresses(bootstrap: str | Iterable[str]) -> list[Address]:
    """`host:port,host:port` as pairs; a host alone means the usual port."""
    texts = bootstrap.split(",") if isinstance(bootstrap, str) else list(bootstrap)
    addresses = []
    for text in filter(None, map(str.strip, texts)):
        if "://" in text:
            raise ClientError(
                f"{text!r} is not an address", hint=f"leave out {text.partition('://')[0]}://: {_ADDRESS}"
            )
        host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
        if not colon:
            host, port = text, str(DEFAULT_PORT)
        if not port.isdecimal() or not host or int(port) > 0xFFFF:
            raise ClientError(f"{text!r} is not an address", hint=_ADDRESS)
        addresses.append((host.strip("[]"), int(port)))
    if not addresses:
        raise ClientError("no address of a broker was given", hint="name one with --bootstrap HOST:PORT")
    return addresses


def _leader_in(topic: TopicView, where: TopicPartition) -> int:
    if not 0 <= where.partition < len(topic.partitions):
        raise ClientError(
            f"topic {where.topic} has no partition {where.partition}",
            code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            hint=topic.numbers,
        )
    return topic.partitions[where.partition].leader


def _pauses() -> Iterable[float]:
    """Growing pauses with some chance in them, so that many clients do not come back at the same moment."""
    pause = BACKOFF_SECONDS_FIRST
    while True:
        yield pause * random.uniform(0.8, 1.2)
        pause = min(2 * pause, BACKOFF_SECONDS_MAX)
