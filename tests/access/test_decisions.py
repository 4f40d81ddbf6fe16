"""What rules say, beside a naive twin; and that nothing is remembered longer than it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.access import decisions
from penstock.core.access.decisions import Decisions
from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image
from penstock.core.wire.stored.cluster_metadata import AccessControlEntryRecord
from tests.access import twin
from tests.examples import examples

NAMES = ["*", "a", "aa", "ab", "b", "hardcode", "kafka-cluster"]
PRINCIPALS = ["User:alice", "User:bob", "User:*", "Group:staff"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2"]
SUPER: Final = frozenset({"User:root"})

RULES = st.builds(
    AccessControlEntryRecord,
    id=st.binary(min_size=16, max_size=16),
    resource_type=st.sampled_from([Resource.TOPIC, Resource.GROUP]).map(int),
    resource_name=st.sampled_from(NAMES),
    pattern_type=st.sampled_from(PatternType).map(int),
    principal=st.sampled_from(PRINCIPALS),
    host=st.sampled_from(HOSTS),
    operation=st.sampled_from(Operation).map(int),
    permission_type=st.sampled_from(Permission).map(int),
)
QUESTIONS = st.tuples(
    st.sampled_from([*PRINCIPALS, "User:root"]),
    st.sampled_from(HOSTS[1:]),
    st.sampled_from([each for each in Operation if each is not Operation.ALL]),
    st.sampled_from([Resource.TOPIC, Resource.GROUP]),
    st.sampled_from(NAMES),
)


def made_of(rules: Sequence[AccessControlEntryRecord], without_rules: bool = False) -> Decisions:
    image, _ = fold(Image(), rules, len(rules))
    return Decisions(image.access.rules, SUPER, without_rules)


def rule(
    operation: Operation,
    name: str = "t",
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=bytes([operation, permission, pattern, len(name)] * 4),
        resource_type=Resource.TOPIC,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


@examples(300)
@given(st.lists(RULES, max_size=12, unique_by=lambda each: each.id), st.lists(QUESTIONS, max_size=12), st.booleans())
def test_it_decides_as_its_naive_twin(
    rules: list[AccessControlEntryRecord],
    questions: list[tuple[str, str, Operation, Resource, str]],
    without_rules: bool,
) -> None:
    found = made_of(rules, without_rules)
    for question in questions * 2:
        assert found.allows(*question) == twin.allows(rules, SUPER, without_rules, *question), question


@pytest.mark.parametrize("operation", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_who_may_use_a_topic_may_know_that_it_is_there(operation: Operation) -> None:
    allowed, denied = made_of([rule(operation)]), made_of([rule(operation, permission=Permission.DENY)], True)
    assert allowed.allows("User:alice", "10.0.0.1", Operation.DESCRIBE, Resource.TOPIC, "t")
    assert not allowed.allows("User:alice", "10.0.0.1", Operation.DESCRIBE_CONFIGS, Resource.TOPIC, "t")
    assert not denied.allows("User:alice", "10.0.0.1", Operation.DESCRIBE, Resource.TOPIC, "t")
    assert denied.allows("User:alice", "10.0.0.1", Operation.DESCRIBE, Resource.TOPIC, "without-rules")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], False),
        ([rule(Operation.WRITE)], True),
        ([rule(Operation.ALL, "*")], True),
        ([rule(Operation.READ)], False),
        ([rule(Operation.WRITE, host="10.0.0.2")], False),
        ([rule(Operation.WRITE), rule(Operation.WRITE, permission=Permission.DENY)], False),
        ([rule(Operation.WRITE), rule(Operation.WRITE, "*", Permission.DENY)], False),
        ([rule(Operation.WRITE, "tt"), rule(Operation.WRITE, "t", Permission.DENY, PatternType.PREFIXED)], False),
        (
            [rule(Operation.WRITE, "tt", pattern=PatternType.PREFIXED), rule(Operation.WRITE, "tt", Permission.DENY)],
            True,
        ),
    ],
)
def test_whether_there_is_a_topic_that_somebody_may_write_to(
    rules: list[AccessControlEntryRecord], expected: bool
) -> None:
    found = made_of(rules)
    for _ in range(2):
        assert found.allows_some("User:alice", "10.0.0.1", Operation.WRITE, Resource.TOPIC) == expected
    assert found.allows_some("User:root", "10.0.0.1", Operation.WRITE, Resource.TOPIC)


def test_ever_new_names_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "REMEMBERED_MAX", 10)
    found = made_of([rule(Operation.READ, "t1", pattern=PatternType.PREFIXED)])
    for number in range(100):
        name = f"t{number}"
        allowed = found.allows("User:alice", "10.0.0.1", Operation.READ, Resource.TOPIC, name)
        assert allowed == name.startswith("t1")
        assert len(found.remembered) <= 10
