"""Rules in force: what is allowed in part, what was allowed and no longer is, and what a restart leaves of it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.access.words import PatternType, Permission
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause
from penstock.core.node.serving.authorizing import NAMES_PER_TURN_MAX
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.schema import Request
from tests.access.town import SUPER, Town, entry
from tests.node.world import fetch, found_in, produce, values_of

NONE = ErrorCode.NONE
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def town() -> Town:
    town = Town()
    town.create("mine", "mine-too", "others")
    town.allow(entry("ann", "READ TOPIC mine", pattern=PatternType.PREFIXED), entry("ann", "WRITE TOPIC mine"))
    return town


def ends(*names: str) -> dict[str, Any]:
    partitions = [{"partition_index": 0, "timestamp": -1}]
    return {"replica_id": -1, "topics": [{"name": name, "partitions": partitions} for name in names]}


def test_of_many_things_those_that_are_allowed_are_done(town: Town) -> None:
    answer = town.ask("ann", "ListOffsets", 7, **ends("others", "mine", "absent", "mine-too"))
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"mine": NONE, "mine-too": NONE, "others": REFUSED, "absent": REFUSED}
    told = town.ask("ann", "Metadata", 9, topics=None).topics
    assert [topic.name for topic in told] == ["mine", "mine-too"]


def test_a_large_answer_lacks_nothing_of_what_was_set_aside(town: Town) -> None:
    """What is encoded in turns is completed as what leaves at once is."""
    resources = [{"resource_type": 2, "resource_name": name} for name in ("mine", "others", *map(str, range(20)))]
    town.allow(
        entry("ann", "DESCRIBE_CONFIGS TOPIC mine"), *(entry("ann", f"ALTER_CONFIGS TOPIC {n}") for n in range(20))
    )
    answer = town.ask("ann", "DescribeConfigs", 4, resources=resources)
    codes = {each.resource_name: each.error_code for each in answer.results}
    assert codes["mine"] == NONE
    assert codes["others"] == REFUSED
    assert len(codes) == len(resources)


def test_a_rule_that_denies_wins_and_is_not_widened(town: Town) -> None:
    town.allow(entry("ann", "READ TOPIC mine-too", Permission.DENY))
    answer = town.client("ann").ask(fetch({("mine", 0): 0, ("mine-too", 0): 0}), 11)
    assert {name: data.error_code for (name, _), data in found_in(answer).items()} == {
        "mine": NONE,
        "mine-too": REFUSED,
    }
    codes = [topic.partitions[0].error_code for topic in town.ask("ann", "ListOffsets", 7, **ends("mine-too")).topics]
    assert codes == [NONE], "DENY READ does not deny DESCRIBE, which ALLOW READ of the prefix brings"


def test_rules_may_be_about_a_host() -> None:
    town = Town()
    town.create("t")
    town.allow(entry("here", "DESCRIBE TOPIC t", host="here"), entry("there", "DESCRIBE TOPIC t", host="here"))
    assert town.ask("here", "ListOffsets", 7, **ends("t")).topics[0].partitions[0].error_code == NONE
    assert town.ask("there", "ListOffsets", 7, **ends("t")).topics[0].partitions[0].error_code == REFUSED


@pytest.mark.parametrize("clean", [True, False])
def test_rules_survive_a_restart(town: Town, clean: bool) -> None:
    town.world.restart(clean)
    town.let_in()
    assert [topic.name for topic in town.ask("ann", "Metadata", 9, topics=None).topics] == ["mine", "mine-too"]
    assert town.revoke("ann") == 2
    town.world.restart(clean)
    town.let_in()
    assert not town.ask("ann", "Metadata", 9, topics=None).topics
    assert len(town.ask(SUPER, "Metadata", 9, topics=None).topics) >= 3


def test_a_session_hears_at_once_of_what_it_may_no_longer_read(town: Town) -> None:
    """Though nothing has come meanwhile, and only partitions with news are looked at."""
    ann = town.client("ann")
    answer = ann.ask(fetch({("mine", 0): 0}, session=(0, 0)), 11)
    session = answer.session_id
    assert not found_in(ann.ask(fetch({}, session=(session, 1)), 11))
    town.revoke("ann")
    told = found_in(ann.ask(fetch({}, session=(session, 2)), 11))
    assert told["mine", 0].error_code == REFUSED
    town.allow(entry("ann", "READ TOPIC mine"))
    assert found_in(ann.ask(fetch({}, session=(session, 3)), 11))["mine", 0].error_code == NONE


def test_who_waits_for_records_is_not_given_what_he_may_no_longer_read(town: Town) -> None:
    ann = town.client("ann")
    ann.send(fetch({("mine", 0): 0}, max_wait_ms=10_000), 11)
    assert not ann.replies()
    town.revoke("ann")
    assert town.client(SUPER).ask(produce("mine", b"secret"), 9).responses[0].partition_responses[0].error_code == NONE
    (answer,) = ann.replies()
    data = found_in(answer)["mine", 0]
    assert data.error_code == REFUSED
    assert not values_of(data.records)


def test_who_waits_hears_of_all_that_he_may_no_longer_read(town: Town) -> None:
    """Not only of what has woken him."""
    ann = town.client("ann")
    session = ann.ask(fetch({("mine", 0): 0, ("mine-too", 0): 0}, session=(0, 0)), 11).session_id
    ann.send(fetch({}, session=(session, 1), max_wait_ms=10_000), 11)
    assert not ann.replies()
    town.revoke("ann")
    town.client(SUPER).ask(produce("mine", b"secret"), 9)
    (answer,) = ann.replies()
    codes = {name: data.error_code for (name, _), data in found_in(answer).items()}
    assert codes == {"mine": REFUSED, "mine-too": REFUSED}


def test_a_producer_is_refused_from_the_next_request_on(town: Town) -> None:
    ann = town.client("ann")
    assert ann.ask(produce("mine", b"v"), 9).responses[0].partition_responses[0].error_code == NONE
    town.revoke("ann")
    assert ann.ask(produce("mine", b"v"), 9).responses[0].partition_responses[0].error_code == REFUSED
    assert town.world.node.replicas.get("mine", 0).log.end_offset == 1


def test_operations_that_are_told_are_those_that_are_allowed(town: Town) -> None:
    asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    answer = town.ask("ann", "Metadata", 9, topics=[{"name": "mine"}], **asked)
    assert answer.topics[0].topic_authorized_operations == 1 << 3 | 1 << 4 | 1 << 8, "READ, WRITE, DESCRIBE"
    assert answer.cluster_authorized_operations == 0
    answer = town.ask(SUPER, "Metadata", 9, topics=[{"name": "mine"}], **asked)
    assert answer.topics[0].topic_authorized_operations == 0b110111111000
    assert answer.cluster_authorized_operations == 0b1111110100000 | 1 << 7


def test_who_creates_a_topic_is_told_its_settings_only_if_he_may_see_them(town: Town) -> None:
    town.allow(
        entry("bob", "CREATE TOPIC bobs"),
        entry("ben", "CREATE TOPIC bens"),
        entry("ben", "DESCRIBE_CONFIGS TOPIC bens"),
    )
    for name, topic, code in (("bob", "bobs", REFUSED), ("ben", "bens", NONE)):
        wanted = {"name": topic, "num_partitions": 2, "replication_factor": 1}
        (made,) = town.ask(name, "CreateTopics", 7, topics=[wanted], timeout_ms=1000).topics
        assert made.error_code == NONE
        assert made.topic_config_error_code == code
        assert made.num_partitions == (-1 if code else 2)
        assert bool(made.configs) == (code == NONE)


def test_a_topic_that_somebody_may_not_create_does_not_come_into_being(town: Town) -> None:
    town.allow(entry("ann", "DESCRIBE TOPIC wished"))
    answer = town.ask("ann", "Metadata", 9, topics=[{"name": "wished"}], allow_auto_topic_creation=True)
    assert answer.topics[0].error_code == REFUSED
    assert town.world.node.image.topic("wished") is None


def test_everybody_may_use_what_nobody_has_made_a_rule_about() -> None:
    town = Town(**{"allow.everyone.if.no.acl.found": "true"})
    town.create("free", "kept")
    town.allow(entry("ann", "READ TOPIC kept"))
    assert town.ask("bob", "ListOffsets", 7, **ends("free")).topics[0].partitions[0].error_code == NONE
    assert town.ask("bob", "ListOffsets", 7, **ends("kept")).topics[0].partitions[0].error_code == REFUSED


LARGE = 5_000


def ask_in_turns(town: Town, name: str, request: Request, version: int) -> tuple[Any, int]:
    """The answer to a large request, and how often others could have been heard meanwhile."""
    client = town.client(name)
    client.send(request, version)
    turns = 0
    while not (replies := client.replies()):
        pauses = [operation for operation, *_ in town.world.files.pending if isinstance(operation, Pause)]
        turns += bool(pauses)
        town.world.finish_one() if town.world.files.pending else town.world.turn(town.world.node.tick)
    return replies[0], turns


@pytest.mark.parametrize("version", [0, 9])
def test_a_large_request_is_judged_in_turns(town: Town, version: int) -> None:
    names = ["mine", "others", *(f"n{number}" for number in range(LARGE))]
    topics = [MetadataRequestTopic(name=name) for name in names]
    answer, turns = ask_in_turns(town, "ann", MetadataRequest(topics=topics), version)
    codes = {topic.name: topic.error_code for topic in answer.topics}
    assert codes.pop("mine") == NONE
    assert set(codes.values()) == {REFUSED}
    assert len(codes) == len(names) - 1
    assert turns >= LARGE // NAMES_PER_TURN_MAX


@pytest.mark.parametrize("version", [0, 9])
def test_a_large_request_of_which_nothing_is_allowed_tells_nothing(town: Town, version: int) -> None:
    topics = [MetadataRequestTopic(name=f"n{number}") for number in range(LARGE)]
    answer, _ = ask_in_turns(town, "bob", MetadataRequest(topics=topics), version)
    assert {topic.error_code for topic in answer.topics} == {REFUSED}
    assert len(answer.topics) == LARGE


def test_a_large_request_of_settings_is_answered_whole(town: Town) -> None:
    resources = [DescribeConfigsResource(resource_type=2, resource_name=name) for name in map(str, range(LARGE))]
    answer, _ = ask_in_turns(town, "bob", DescribeConfigsRequest(resources=resources), 4)
    assert {each.error_code for each in answer.results} == {REFUSED}
    assert len(answer.results) == LARGE


def test_a_client_that_goes_while_it_is_judged_leaves_nothing_behind(town: Town) -> None:
    client = town.client("ann")
    client.send(MetadataRequest(topics=[MetadataRequestTopic(name=f"n{number}") for number in range(LARGE)]), 9)
    client.close()
    town.world.run_due()
    town.world.settle()
    assert not client.replies()
    assert town.ask("ann", "Metadata", 9, topics=[{"name": "mine"}]).topics[0].error_code == NONE
