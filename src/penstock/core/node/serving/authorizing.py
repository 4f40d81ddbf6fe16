"""What a request may do: each API says of itself how it is judged (`Api.authorize`), mostly by what it touches.

A request that names one thing is refused as a whole. Of one that names many, those that are not allowed are set aside
before its handler sees it, and told in its answer; whether they exist is not looked at, so that nobody learns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.steps import Turns, at_once
from penstock.core.metadata.image import Image
from penstock.core.node.serving.access import CLUSTER_NAME, Operation, Resource, Touches
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.gates import Authorizer
from penstock.core.wire.refusals import joined, refusal_of_each
from penstock.core.wire.schema import Request, Response

REFUSED_AS: Final = {
    Resource.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Resource.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Resource.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Resource.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Resource.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    Resource.USER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}


NAMES_PER_TURN_MAX: Final = 500
"""Names that are judged within one turn; each costs some microseconds."""


class Asking(NamedTuple):
    """What a request is, beside what it says."""

    context: RequestContext
    version: int
    refuse: Callable[[Any, int, ErrorCode, str | None], Response]
    image: Image
    """What there is."""
    is_creating: bool
    """Whether a topic that somebody asks about comes into being."""


Verdict = Callable[[Any], ErrorCode | None]
"""Why one of the things in an array is not allowed, or None."""


class Aside(NamedTuple):
    """An array of a request that is to be judged."""

    array: str
    verdict: Verdict
    goes_on: bool
    then: Callable[[], object]


class Question:
    """Whether one request may do what it asks."""

    def __init__(self, authorizer: Authorizer, asking: Asking, request: Any) -> None:
        self._authorizer = authorizer
        self._asking = asking
        self.request = request
        self.after: list[Callable[[Any], None]] = []
        """What is to be done to the answer of whoever handles it."""
        self.codes: list[ErrorCode] = []
        """What was set aside is told."""
        self.refused: list[Any] = []
        """And this is what was set aside."""
        self.is_large = False
        """Whether what it names is too much for one turn, and judged `in_turns`."""
        self._put_off: list[Aside] = []

    @property
    def version(self) -> int:
        return self._asking.version

    @property
    def context(self) -> RequestContext:
        return self._asking.context

    def may(self, operation: Operation, resource: Resource, name: str = CLUSTER_NAME) -> bool:
        return self._authorizer.allows(self._asking.context, operation, resource, name)

    def may_some(self, operation: Operation, resource: Resource) -> bool:
        return self._authorizer.allows_some(self._asking.context, operation, resource)

    def may_touch(self, touches: Touches, name: str) -> bool:
        if touches.unless is not None and self.may(touches.unless.operation, touches.unless.resource):
            return True
        return self.may(touches.operation, touches.resource, name)

    def topic_name(self, topic_id: bytes) -> str | None:
        """None: no topic has this id."""
        return self._asking.image.names.get(topic_id)

    def has_topic(self, name: str) -> bool:
        return self._asking.image.topic(name) is not None

    @property
    def is_creating(self) -> bool:
        return self._asking.is_creating

    def refuse(self, code: ErrorCode) -> Response:
        """Nothing of it is allowed."""
        self.codes.append(code)
        self.refused.append(self.request)
        return self._asking.refuse(self.request, self.version, code, None)

    def set_aside(
        self, array: str, verdict: Verdict, *, goes_on: bool = False, then: Callable[[], object] = lambda: None
    ) -> Response | None:
        """Take out of an array what a verdict gives a code for, and tell it in the answer. Where nothing is left that
        is the answer, unless the request says more than these. `then` comes when it is done, which may be later."""
        aside = Aside(array, verdict, goes_on, then)
        if self.is_large:
            self._put_off.append(aside)
            return None
        return at_once(self._judge(aside, Turns(NAMES_PER_TURN_MAX)))

    def in_turns(self) -> Steps[Response | None]:
        """Judge what a large request names, some in each turn."""
        turns = Turns(NAMES_PER_TURN_MAX)
        for each in self._put_off:
            refused: Response | None = yield from self._judge(each, turns)
            if refused is not None:
                return refused
        return None

    @property
    def is_put_off(self) -> bool:
        return bool(self._put_off)

    def _judge(self, aside: Aside, turns: Turns) -> Steps[Response | None]:
        array, verdict, goes_on, then = aside
        allowed: list[Any] = []
        refused: dict[ErrorCode, list[Any]] = {}
        for each in getattr(self.request, array) or ():
            yield from turns.spend(1)
            code = verdict(each)
            if code is None:
                allowed.append(each)
            else:
                refused.setdefault(code, []).append(each)
                self.codes.append(code)
        if not refused:
            then()
            return None
        self.refused += [each for some in refused.values() for each in some]
        told = [self._refusal_of(array, some, code) for code, some in refused.items()]
        if allowed or goes_on:
            setattr(self.request, array, allowed)
            self.after.append(lambda answer: joined(answer, told))
            then()
            return None
        return joined(told[0], told[1:])

    def _refusal_of(self, array: str, elements: list[Any], code: ErrorCode) -> Response:
        alone: Request = type(self.request)()
        setattr(alone, array, elements)
        return refusal_of_each(alone, self.version, code)

    def finish(self, answer: Any) -> None:
        for act in self.after:
            act(answer)


class Authorize(Protocol):
    """How an API judges a request: None lets it pass, perhaps without some of what it names."""

    def __call__(self, question: Question, /) -> Response | None: ...


def by_handler(question: Question) -> Response | None:
    """The handler asks where it looks a name up."""
    return None


def by_touches(touches: Iterable[Touches]) -> Authorize:
    """What an API says that it touches is all there is to it."""
    all_touches = tuple(touches)
    of_versions: dict[int, tuple[Authorize, ...]] = {}

    def authorize(question: Question) -> Response | None:
        version = question.version
        if version not in of_versions:
            of_versions[version] = _of_version(all_touches, type(question.request), version)
        for each in of_versions[version]:
            refused = each(question)
            if refused is not None:
                return refused
        return None

    return authorize


def _of_version(touches: tuple[Touches, ...], request: type[Request], version: int) -> tuple[Authorize, ...]:
    """The part of it that a version of a request can say. Things in an array are judged one by one."""
    found: list[Authorize] = []
    arrays: dict[str, list[tuple[Touches, str]]] = {}
    for each in touches:
        name, _, leaf = each.at.partition(".")
        field = next((field for field in request.SPEC.fields if field.name == name), None)
        if not each.at and each.resource is Resource.CLUSTER:
            found.append(_cluster(each))
        elif field is None or not field.exists_in(version):
            continue
        elif field.element is None:
            found.append(_one(each))
        elif field.element.struct is None or _has(field.element.struct.python_class, leaf, version):
            arrays.setdefault(name, []).append((each, leaf))
    return (*found, *(_each_of(name, tuple(touched)) for name, touched in arrays.items()))


def _has(kind: Any, name: str, version: int) -> bool:
    return any(field.name == name and field.exists_in(version) for field in kind.SPEC.fields)


def _cluster(touches: Touches) -> Authorize:
    def authorize(question: Question) -> Response | None:
        allowed = question.may_touch(touches, CLUSTER_NAME)
        return None if allowed else question.refuse(REFUSED_AS[touches.resource])

    return authorize


def _one(touches: Touches) -> Authorize:
    def authorize(question: Question) -> Response | None:
        name = getattr(question.request, touches.at)
        allowed = name is None or question.may_touch(touches, name)
        return None if allowed else question.refuse(REFUSED_AS[touches.resource])

    return authorize


def _each_of(array: str, touched: tuple[tuple[Touches, str], ...]) -> Authorize:
    """A topic may be named by its id; one that nobody has is left to the handler, which says so."""

    def authorize(question: Question) -> Response | None:
        def verdict(element: Any) -> ErrorCode | None:
            for touches, leaf in touched:
                name = getattr(element, leaf) if leaf else element
                if isinstance(name, bytes):
                    name = question.topic_name(name)
                if name is not None and not question.may_touch(touches, name):
                    return REFUSED_AS[touches.resource]
            return None

        return question.set_aside(array, verdict)

    return authorize
