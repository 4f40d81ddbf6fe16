"""Whatever comes between: a right that an image has taken away is not used once the node has that image."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.wire.api.create_acls import AclCreation, CreateAclsRequest
from penstock.core.wire.api.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from penstock.core.wire.refusals import codes_in
from tests.access import twin
from tests.access.matrix import TOPIC_FAILED
from tests.access.town import SUPER, Town, entry
from tests.examples import examples
from tests.node.world import Client, fetch, found_in, produce, values_of

TOPICS = ["a", "ab"]
NAMES = ["ann", "bob"]
RULES = [
    entry(who, f"{operation} TOPIC {topic}", permission, pattern)
    for who in (*NAMES, "*")
    for operation in ("READ", "WRITE")
    for topic in TOPICS
    for permission, pattern in (
        (Permission.ALLOW, PatternType.LITERAL),
        (Permission.ALLOW, PatternType.PREFIXED),
        (Permission.DENY, PatternType.LITERAL),
    )
]
ACTIONS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(RULES)),
    st.tuples(st.just("remove"), st.sampled_from(RULES)),
    st.tuples(st.just("produce"), st.sampled_from(NAMES), st.sampled_from(TOPICS)),
    st.tuples(st.just("fetch"), st.sampled_from(NAMES), st.sampled_from(TOPICS), st.booleans()),
    st.tuples(st.sampled_from(["hold", "release", "some", "later"])),
)


class Asked(NamedTuple):
    """A request under way: whether it was allowed when it came."""

    client: Client
    name: str
    was_allowed: bool | None


class Trial:
    """One life of a node and of those who ask it."""

    def __init__(self) -> None:
        self.town = Town()
        self.town.create(*TOPICS)
        self.asked: list[Asked] = []
        self.seen = 0

    def allows(self, name: str, operation: Operation, topic: str) -> bool:
        """As the rules are that the node has now."""
        rules = list(self.town.world.node.image.access.entries.values())
        return twin.allows(rules, frozenset(), False, f"User:{name}", name, operation, Resource.TOPIC, topic)

    def act(self, action: tuple[Any, ...]) -> None:
        kind, *rest = action
        getattr(self, kind)(*rest)
        for each in list(self.asked):
            for answer in each.client.replies():
                self.judge(each, answer)

    def judge(self, asked: Asked, answer: Any) -> None:
        self.asked.remove(asked)
        if asked.was_allowed is not None:
            assert (TOPIC_FAILED in codes_in(answer)) != asked.was_allowed
            return
        for (topic, _), data in found_in(answer).items():
            allowed = self.allows(asked.name, Operation.READ, topic)
            assert (data.error_code == TOPIC_FAILED) != allowed
            assert allowed or not values_of(data.records), "a record that may no longer be read"
            self.seen += len(values_of(data.records))

    def add(self, rule: AclCreation) -> None:
        self.town.client(SUPER).send(CreateAclsRequest(creations=[rule]))

    def remove(self, rule: AclCreation) -> None:
        just_this = DeleteAclsFilter(
            resource_type_filter=rule.resource_type,
            resource_name_filter=rule.resource_name,
            pattern_type_filter=rule.resource_pattern_type,
            principal_filter=rule.principal,
            host_filter=None,
            operation=rule.operation,
            permission_type=rule.permission_type,
        )
        self.town.client(SUPER).send(DeleteAclsRequest(filters=[just_this]))

    def produce(self, name: str, topic: str) -> None:
        client = self.town.client(name)
        self.asked.append(Asked(client, name, self.allows(name, Operation.WRITE, topic)))
        client.send(produce(topic, b"v"), 9)

    def fetch(self, name: str, topic: str, waits: bool) -> None:
        client = self.town.client(name)
        self.asked.append(Asked(client, name, None))
        client.send(fetch({(topic, 0): 0}, max_wait_ms=1_000 if waits else 0, min_bytes=10_000), 11)

    def hold(self) -> None:
        self.town.world.hold()

    def release(self) -> None:
        self.town.world.release()

    def some(self) -> None:
        if self.town.world.files.pending:
            self.town.world.finish_one()

    def later(self) -> None:
        self.town.world.pass_time(400, settle=False)


@examples(60)
@given(st.lists(ACTIONS, min_size=5, max_size=60))
def test_a_right_that_is_gone_is_not_used(actions: list[tuple[Any, ...]]) -> None:
    trial = Trial()
    for action in actions:
        trial.act(action)
