"""A cluster of real nodes: any of them can be asked anything, and each hands over what it leads before it goes."""

from __future__ import annotations

import struct

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import ELR_VERSION
from penstock.core.metadata.image import BROKER_LOGGER_RESOURCE, TOPIC_RESOURCE
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.describe_cluster import DescribeClusterRequest
from penstock.core.wire.api.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest
from penstock.core.wire.api.envelope import EnvelopeRequest
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest
from penstock.core.wire.api.list_partition_reassignments import ListPartitionReassignmentsRequest
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from penstock.core.wire.frames import encode_request_header
from penstock.core.wire.schema import Request
from penstock.core.wire.stored.principal import DefaultPrincipalData
from penstock.sim.machine import CONTROLLER_PORT
from penstock.sim.scheduler import SECOND
from tests.node.controller.nodes import NODES, Nodes

PRINCIPAL = struct.pack(">h", 0) + DefaultPrincipalData(type="User", name="ANONYMOUS").encode(0)
HERE = bytes((10, 0, 0, 9))


def creation(name: str, partitions: int = 3, replicas: int = 3) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)], timeout_ms=20_000
    )


def test_a_topic_can_be_created_anywhere_and_is_known_everywhere() -> None:
    cluster = Nodes()
    for number in NODES:
        assert cluster.ask(number, creation(f"t{number}")).topics[0].error_code == 0
        again = cluster.ask(number, creation(f"t{number}")).topics[0]
        assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    cluster.wait(lambda: all(len(cluster.node(each).image.topics) == 3 for each in NODES))
    for number in NODES:
        topic = cluster.node(number).image.topic("t1")
        assert topic is not None
        assert sorted(topic.leaders) == [1, 2, 3], "leaders are spread"


def test_what_is_forwarded_while_the_controller_dies_is_answered_by_the_next() -> None:
    cluster = Nodes()
    other, controller = cluster.other, cluster.controller
    connection = cluster.connect(other)
    cluster.world.sites[controller].crash(20 * SECOND)
    answer = cluster.answer(connection, creation("t", replicas=1))
    assert answer.topics[0].error_code in (0, ErrorCode.TOPIC_ALREADY_EXISTS)
    assert cluster.controller != controller


def test_without_a_controller_a_forwarded_request_times_out() -> None:
    cluster = Nodes()
    other = cluster.other
    for number in NODES:
        if number != other:
            cluster.world.sites[number].crash(60 * SECOND)
    request = creation("t", replicas=1)
    request.timeout_ms = 3_000
    assert cluster.ask(other, request).topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT


def test_settings_go_to_the_controller_and_log_levels_stay_here() -> None:
    cluster = Nodes()
    number = cluster.other
    cluster.ask(number, creation("t"))
    topic = AlterConfigsResource(
        resource_type=TOPIC_RESOURCE,
        resource_name="t",
        configs=[AlterableConfig(name="retention.ms", config_operation=0, value="5")],
    )
    level = AlterConfigsResource(
        resource_type=BROKER_LOGGER_RESOURCE,
        resource_name=str(number),
        configs=[AlterableConfig(name="root", config_operation=0, value="WARN")],
    )
    for resources in ([topic], [level], [level, topic]):
        answer = cluster.ask(number, IncrementalAlterConfigsRequest(resources=resources))
        assert [each.error_code for each in answer.responses] == [0] * len(resources)
    assert set(cluster.node(number).log_levels.values()) == {"WARN"}
    cluster.wait(lambda: all(cluster.node(each).image.config(TOPIC_RESOURCE, "t") for each in NODES))


def test_topics_are_created_on_first_use_anywhere() -> None:
    cluster = Nodes(**{"auto.create.topics.enable": "true"})
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True)
    cluster.ask(cluster.other, wanted)
    cluster.wait(lambda: all(cluster.node(each).image.topic("new") is not None for each in NODES))


def test_producer_ids_differ_everywhere() -> None:
    cluster = Nodes()
    given = [cluster.ask(number, InitProducerIdRequest(transactional_id=None)) for number in NODES for _ in range(3)]
    assert [each.error_code for each in given] == [0] * 9
    assert len({each.producer_id for each in given}) == 9


def test_every_node_names_the_same_coordinator_and_only_that_one_serves() -> None:
    cluster = Nodes(**{"offsets.topic.num.partitions": "6"})
    cluster.ask(1, FindCoordinatorRequest(key_type=0, coordinator_keys=["any"]))
    cluster.wait(lambda: all(cluster.node(each).image.topic("__consumer_offsets") is not None for each in NODES))
    found: set[int] = set()
    for group in ("a", "b", "c", "d", "e", "f"):
        wanted = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        named = {cluster.ask(number, wanted).coordinators[0].node_id for number in NODES}
        assert len(named) == 1
        found |= named
        beat = HeartbeatRequest(group_id=group, member_id="m")
        codes = {number: cluster.ask(number, beat).error_code for number in NODES}
        assert [each for each in NODES if codes[each] != ErrorCode.NOT_COORDINATOR] == sorted(named)
    assert len(found) > 1, "all groups are coordinated by one node, so nothing is tested"


def test_clients_are_told_what_is_away() -> None:
    cluster = Nodes()
    controller = cluster.controller
    gone = next(each for each in NODES if each != controller)
    cluster.ask(controller, creation("alone", partitions=3, replicas=1))
    cluster.ask(controller, creation("t"))
    cluster.world.sites[gone].crash(60 * SECOND)
    cluster.wait(lambda: cluster.node(controller).image.brokers[gone].fenced)
    names = [MetadataRequestTopic(name=name) for name in ("alone", "t")]
    alone, shared = cluster.ask(controller, MetadataRequest(topics=names)).topics
    lost = [each for each in alone.partitions if each.replica_nodes == [gone]]
    assert [(each.error_code, each.leader_id) for each in lost] == [(ErrorCode.LEADER_NOT_AVAILABLE, -1)]
    assert all(each.error_code == 0 and each.leader_id != gone for each in shared.partitions)
    assert all(each.offline_replicas == [gone] for each in shared.partitions)
    asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="alone")])
    described = cluster.ask(controller, asked).topics[0].partitions
    found = [(each.offline_replicas, each.eligible_leader_replicas) for each in described if each.leader_id == -1]
    assert found == [([gone], [gone])]


@pytest.mark.parametrize(
    "request_",
    [ElectLeadersRequest(topic_partitions=None), ListPartitionReassignmentsRequest(topics=None)],
    ids=["ElectLeaders", "ListPartitionReassignments"],
)
def test_administration_is_forwarded(request_: Request) -> None:
    cluster = Nodes()
    for number in NODES:
        assert cluster.ask(number, request_).error_code == 0
    at_controllers_port = cluster.ask(cluster.other, request_, CONTROLLER_PORT)
    assert at_controllers_port.error_code == ErrorCode.NOT_CONTROLLER


def test_features_are_raised_once_every_controller_is_known() -> None:
    cluster = Nodes()
    cluster.wait(lambda: all(len(cluster.node(each).image.controllers) == len(NODES) for each in NODES))
    lower = FeatureUpdateKey(feature=ELR_VERSION, max_version_level=0, upgrade_type=2)
    assert cluster.ask(cluster.other, UpdateFeaturesRequest(feature_updates=[lower])).error_code == 0
    raise_ = FeatureUpdateKey(feature=ELR_VERSION, max_version_level=1)
    assert cluster.ask(cluster.controller, UpdateFeaturesRequest(feature_updates=[raise_])).error_code == 0
    controllers = cluster.node(1).image.controllers
    cluster.world.sites[2].crash(SECOND)
    cluster.wait(lambda: cluster.node(1).image.controllers[2].incarnation != controllers[2].incarnation)


def test_controllers_are_described_at_their_own_port() -> None:
    cluster = Nodes()
    cluster.wait(lambda: all(len(cluster.node(each).image.controllers) == len(NODES) for each in NODES))
    request = DescribeClusterRequest(endpoint_type=2)
    for number in NODES:
        answer = cluster.ask(number, request, CONTROLLER_PORT)
        assert answer.controller_id == cluster.controller
        assert sorted((each.broker_id, each.port) for each in answer.brokers) == [(each, 9093) for each in NODES]
    assert cluster.ask(1, request).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    as_broker = cluster.ask(1, DescribeClusterRequest(endpoint_type=1), CONTROLLER_PORT)
    assert as_broker.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_a_clean_stop_hands_over_and_a_restart_is_trusted() -> None:
    cluster = Nodes()
    number = cluster.other
    cluster.ask(number, creation("t"))
    site = cluster.world.sites[number]
    epoch = cluster.node(number).cluster.broker_lifecycle.epoch
    leaving = cluster.node(number)
    site.shut_down()
    cluster.wait(lambda: site.node is None)
    assert (leaving.state, leaving.failure) == ("stopped", None)
    image = cluster.node(cluster.controller).image
    assert image.tally.leading.get(number, 0) == 0
    site.boot()
    cluster.wait(cluster.is_serving)
    assert cluster.node(number).cluster.broker_lifecycle.epoch > epoch
    assert image.tally.leaderless == 0


def test_a_broker_can_be_unregistered_when_it_is_gone() -> None:
    cluster = Nodes()
    controller = cluster.controller
    gone = next(each for each in NODES if each != controller)
    asked = next(each for each in NODES if each not in (controller, gone))
    cluster.world.sites[gone].crash(60 * SECOND)
    cluster.wait(lambda: cluster.node(controller).image.brokers[gone].fenced)
    assert cluster.ask(asked, UnregisterBrokerRequest(broker_id=gone)).error_code == 0
    cluster.wait(lambda: gone not in cluster.node(asked).image.brokers)
    answer = cluster.ask(asked, DescribeClusterRequest())
    assert gone not in [broker.broker_id for broker in answer.brokers]


def inside(request: Request, version: int) -> bytes:
    return encode_request_header(request.KEY, version, 7, "client") + request.encode(version)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"request_principal": None}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\1x"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"client_host_address": b"abc"}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"?"}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": inside(MetadataRequest(topics=None), 9)}, ErrorCode.INVALID_REQUEST),
        ({"request_data": inside(creation("t"), 7)[:-3]}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_envelopes_that_cannot_be_opened(changes: dict[str, bytes | None], code: ErrorCode) -> None:
    cluster = Nodes()
    good = {"request_data": inside(creation("t"), 7), "request_principal": PRINCIPAL, "client_host_address": HERE}
    controller, other = cluster.controller, cluster.other
    bad = EnvelopeRequest(**{**good, **changes})  # type: ignore[arg-type]  # some of it is wrong on purpose
    assert cluster.ask(controller, bad, CONTROLLER_PORT).error_code == code
    whole = EnvelopeRequest(**good)  # type: ignore[arg-type]  # all are bytes
    assert cluster.ask(other, whole, CONTROLLER_PORT).error_code == ErrorCode.NOT_CONTROLLER
    answer = cluster.ask(controller, whole, CONTROLLER_PORT)
    assert answer.error_code == 0
    assert answer.response_data[:4] == struct.pack(">i", 7)
