"""What to look at of a node that others write transactions to."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import TOPIC_RESOURCE
from penstock.core.node.membership.transaction_verifier import TRANSACTIONS_TOPIC, Transacting
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest
from tests.node.transactional import Transactional
from tests.node.world import World, produce
from tests.settings_act.town import Town
from tests.settings_act.trial import Settings, Trial

CHECKED_VERSION = 10
ADDING = Transacting("id", 7, 0, adds=True)


def error_without_a_coordinator(trial: Trial) -> int:
    """A transaction that nobody vouches for, by the first version of the protocol."""
    world = trial.begin(topic={})
    request = produce("t", b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    request.transactional_id = "id"
    code: int = world.client().ask(request, CHECKED_VERSION).responses[0].partition_responses[0].error_code
    return code


def questions_while_the_last_one_ends(trial: Trial) -> int:
    """How often a coordinator is asked that always says that the transaction before has not ended."""
    world = trial.begin(topic={})
    world.create(TRANSACTIONS_TOPIC)
    asked = _never_ending(world)
    heard: list[ErrorCode] = []
    world.turn(lambda: world.node.cluster.transaction_verifier.ask(ADDING, "t", 0, heard.append))
    world.pass_time(1_000)
    assert heard == [ErrorCode.CONCURRENT_TRANSACTIONS]
    return len(asked)


def _never_ending(world: World) -> list[AddPartitionsToTxnRequest]:
    asked: list[AddPartitionsToTxnRequest] = []
    one = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=[one])
    result = AddPartitionsToTxnResult(transactional_id="id", topic_results=[topic])

    def send(broker_id: int, purpose: str, request: AddPartitionsToTxnRequest, then: Any) -> None:
        asked.append(request)
        world.node.deadlines.soon(lambda: then(AddPartitionsToTxnResponse(results_by_transaction=[result])))

    world.node.cluster.brokers.send = send  # type: ignore[method-assign]  # nobody is there to be asked
    return asked


def _begun(trial: Trial, others: Settings, **fields: Any) -> tuple[Any, Transactional, ErrorCode]:
    """A producer that has asked for its coordinator, and introduced itself."""
    few = {} if trial.name == "transaction.state.log.num.partitions" else {"transaction.state.log.num.partitions": "2"}
    world = trial.begin({**few, **others}, topic={})
    producer = Transactional(world)
    assert producer.find().coordinators[0].error_code == 0
    return world, producer, producer.begin(**fields)


def error_of_timeout(trial: Trial, timeout_ms: int) -> ErrorCode:
    return _begun(trial, {}, timeout_ms=timeout_ms)[2]


def is_known_after(trial: Trial, duration_ms: int, **others: str) -> bool:
    """Whether an id that nobody uses is still there."""
    world, producer, _ = _begun(trial, others)
    world.jump(duration_ms)
    world.pass_time(1)
    producer.client = world.client()
    return bool(producer.described().error_code == 0)


def state_after_timeout(trial: Trial, duration_ms: int) -> str:
    """Of a transaction that may take a second."""
    world, producer, _ = _begun(trial, {}, timeout_ms=1_000)
    assert producer.add("t", 0) == [ErrorCode.NONE]
    world.pass_time(duration_ms)
    return producer.state()


def error_of_two_phases(trial: Trial) -> ErrorCode:
    return _begun(trial, {"unstable.api.versions.enable": "true"}, version=6, enable2_pc=True)[2]


def partitions_of_the_log(trial: Trial) -> int:
    topic = _begun(trial, {})[0].node.image.topic(TRANSACTIONS_TOPIC)
    return len(topic)


def segment_bytes_of_the_log(trial: Trial) -> str:
    return str(_begun(trial, {})[0].node.image.config(TOPIC_RESOURCE, TRANSACTIONS_TOPIC)["segment.bytes"])


def in_sync_of_the_log(trial: Trial) -> str:
    return str(_three_with_the_log(trial).config(TOPIC_RESOURCE, TRANSACTIONS_TOPIC)["min.insync.replicas"])


def copies_of_the_log(trial: Trial) -> int:
    return len(_three_with_the_log(trial).topic(TRANSACTIONS_TOPIC).replicas[0])


def _three_with_the_log(trial: Trial) -> Any:
    """The image of a cluster in which somebody has asked for a transaction coordinator."""
    town = Town(trial).begin()
    number = town.others[0]
    town.ask(number, FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"]))
    town.wait(lambda: town.node(number).image.topic(TRANSACTIONS_TOPIC) is not None)
    return town.node(number).image


def newest_init_producer_id(trial: Trial) -> int:
    asked = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
    rows = trial.begin().client().ask(asked).api_keys
    return next(row.max_version for row in rows if row.api_key == InitProducerIdRequest.KEY)
