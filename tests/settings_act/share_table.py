"""Settings of the state of share groups: what is seen under the default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import TOPIC_RESOURCE
from penstock.core.node.coordination.share_state import SHARE_STATE_TOPIC
from penstock.core.records.codecs import Codec
from penstock.core.share_state.key import SharePartition
from penstock.core.wire.api import initialize_share_group_state as initializing
from penstock.core.wire.api import write_share_group_state as writing
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from tests.settings_act.asking import headers
from tests.settings_act.town import MACHINES, Town
from tests.settings_act.trial import Flip, Settings, Trial, on

FOLDER: Final = f"/data/{SHARE_STATE_TOPIC}-0"
ONE_PARTITION: Final = "share.coordinator.state.topic.num.partitions"
PATIENT: Final = {
    ONE_PARTITION: "1",
    "broker.session.timeout.ms": "60000",
    "penstock.replica.silent.time.max.ms": "60000",
}


def _looked_for(topic_id: bytes) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=2, coordinator_keys=[SharePartition("g", topic_id, 0).text])


def _set_up(topic_id: bytes, *partitions: int) -> initializing.InitializeShareGroupStateRequest:
    data = [initializing.PartitionData(partition=each, state_epoch=1, start_offset=0) for each in partitions]
    topics = [initializing.InitializeStateData(topic_id=topic_id, partitions=data)]
    return initializing.InitializeShareGroupStateRequest(group_id="g", topics=topics)


def _begun(trial: Trial, others: Settings) -> Any:
    """A world in which somebody has asked for a share coordinator."""
    few = {} if trial.name == ONE_PARTITION else {ONE_PARTITION: "1"}
    world = trial.begin({**few, **others}, topic={})
    assert world.client().ask(_looked_for(world.topic_id("t"))).coordinators[0].error_code == 0
    return world


def _written(trial: Trial, others: Settings, writes: int) -> Any:
    world = _begun(trial, others)
    topic_id = world.topic_id("t")
    world.client().ask(_set_up(topic_id, 0))
    for offset in range(writes):
        batch = writing.StateBatch(first_offset=offset, last_offset=offset, delivery_state=2, delivery_count=1)
        data = writing.PartitionData(partition=0, state_epoch=1, leader_epoch=-1, start_offset=0, state_batches=[batch])
        topics = [writing.WriteStateData(topic_id=topic_id, partitions=[data])]
        answer = world.client().ask(writing.WriteShareGroupStateRequest(group_id="g", topics=topics))
        assert answer.results[0].partitions[0].error_code == 0
    return world


def partitions_of_the_log(trial: Trial) -> int:
    return len(_begun(trial, {}).node.image.topic(SHARE_STATE_TOPIC))


def segment_bytes_of_the_log(trial: Trial) -> str:
    return str(_begun(trial, {}).node.image.config(TOPIC_RESOURCE, SHARE_STATE_TOPIC)["segment.bytes"])


def codec_of_the_log(trial: Trial) -> Codec:
    return Codec(headers(_written(trial, {}, 1), FOLDER)[0].codec)


def snapshots(trial: Trial) -> int:
    """Of seven writes."""
    world = _written(trial, {}, 7)
    (host,) = world.node.coordinators.share_state
    (kept,) = host.machine.table.values()
    return int(kept.state.snapshot_epoch)


def start_after(trial: Trial, duration_ms: int, **others: str) -> int:
    """Where the log begins some time after three writes."""
    world = _written(trial, others, 3)
    world.pass_time(duration_ms)
    partition = world.node.replicas.get(SHARE_STATE_TOPIC, 0)
    return int(partition.log.start_offset)


def in_sync_of_the_log(trial: Trial) -> str:
    return str(_three_with_the_log(trial).config(TOPIC_RESOURCE, SHARE_STATE_TOPIC)["min.insync.replicas"])


def copies_of_the_log(trial: Trial) -> int:
    return len(_three_with_the_log(trial).topic(SHARE_STATE_TOPIC).replicas[0])


def _three_with_the_log(trial: Trial) -> Any:
    """The image of a cluster in which somebody has asked for a share coordinator."""
    town = Town(trial).begin()
    number = town.others[0]
    town.ask(number, _looked_for(bytes(16)))
    town.wait(lambda: town.node(number).image.topic(SHARE_STATE_TOPIC) is not None)
    return town.node(number).image


def answer_to_write(trial: Trial, seconds: float) -> int | None:
    """The error by which one is told so soon that an in-sync replica does not get a write."""
    town = Town(trial, PATIENT).begin()
    town.ask(1, _looked_for(bytes(16)))
    town.wait(lambda: all(town.node(each).replicas.get(SHARE_STATE_TOPIC, 0) is not None for each in MACHINES))
    coordinator = next(each for each in MACHINES if any(part.leads for part in town.node(each).replicas))
    town.create(coordinator)
    town.pass_time(1)
    town.separate(coordinator, next(each for each in MACHINES if each != coordinator))
    answer = town.send(coordinator, _set_up(town.topic_id, 0))
    if not town.happens(lambda: answer.resolved, seconds):
        return None
    code: int = town.result(answer).results[0].partitions[0].error_code
    return code


_OF_THE_TOPIC: Final = "share.coordinator.state.topic"
OF_SHARE_STATE: Final[Mapping[str, Flip]] = {
    f"{_OF_THE_TOPIC}.num.partitions": Flip(partitions_of_the_log, ("50", 50), ("3", 3)),
    f"{_OF_THE_TOPIC}.segment.bytes": Flip(
        segment_bytes_of_the_log, ("104857600", "104857600"), ("1048576", "1048576")
    ),
    f"{_OF_THE_TOPIC}.compression.codec": Flip(codec_of_the_log, ("0", Codec.NONE), ("4", Codec.ZSTD)),
    f"{_OF_THE_TOPIC}.min.isr": Flip(in_sync_of_the_log, ("2", "2"), ("3", "3")),
    f"{_OF_THE_TOPIC}.replication.factor": Flip(copies_of_the_log, ("3", 3), ("1", 1)),
    f"{_OF_THE_TOPIC}.prune.interval.ms": Flip(
        on(start_after, 2_000, **{"share.coordinator.snapshot.update.records.per.snapshot": "0"}),
        ("300000", 0),
        ("1000", 3),
    ),
    "share.coordinator.cold.partition.snapshot.interval.ms": Flip(
        on(start_after, 5_000, **{f"{_OF_THE_TOPIC}.prune.interval.ms": "1000"}), ("300000", 0), ("2000", 4)
    ),
    "share.coordinator.snapshot.update.records.per.snapshot": Flip(snapshots, ("500", 0), ("2", 2)),
    "share.coordinator.write.timeout.ms": Flip(
        on(answer_to_write, 2), ("5000", None), ("1000", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    ),
}
