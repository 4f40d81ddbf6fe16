"""Transaction coordinators: what they are made of, and how all transactional ids of one are listed."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.settings import BrokerSettings
from penstock.core.groups.routing import partition_for_group
from penstock.core.metadata.features import TRANSACTION_VERSION
from penstock.core.node.coordination.host import Host
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.node.coordination.marker_sender import Announcer, MarkerSender
from penstock.core.node.coordination.ports import CoordinatorHost
from penstock.core.node.serving.slots import Answerable
from penstock.core.partition.partition import Partition
from penstock.core.records.codecs import Codec
from penstock.core.rsm.result import Result, Timers
from penstock.core.transactions.context import CoordinatorContext
from penstock.core.transactions.describing import Filter, listed
from penstock.core.transactions.settings import TransactionSettings
from penstock.core.transactions.shard import TransactionShard
from penstock.core.wire.api.list_transactions import ListTransactionsResponse

TRANSACTIONS_TOPIC: Final = "__transaction_state"
LISTED_PER_TURN_MAX: Final = 500

TransactionHost = Host[TransactionShard]


class Transactions:
    """The machines over `__transaction_state`."""

    topic = TRANSACTIONS_TOPIC

    def __init__(self, node: CoordinatorHost, sender: MarkerSender) -> None:
        self._node = node
        self._sender = sender

    @property
    def count(self) -> int:
        topic = self._node.image.topic(TRANSACTIONS_TOPIC)
        return self._node.settings["transaction.state.log.num.partitions"] if topic is None else len(topic)

    def journal(self, partition: Partition) -> PartitionJournal:
        node = self._node
        # As Kafka does it: what a coordinator writes is small, and read at once by who takes over.
        return PartitionJournal(node, partition, Codec.NONE, lambda: node.settings["request.timeout.ms"])

    def make(self, partition: Partition, timers: Timers) -> TransactionShard:
        node = self._node
        context = CoordinatorContext(
            transaction_settings(node.settings),
            timers,
            node.producer_ids,
            Announcer(self._sender, partition.index),
            lambda: node.image.features.get(TRANSACTION_VERSION, 0),
            lambda: partition.leader_epoch,
        )
        return TransactionShard(context)

    def index_of(self, key: str, count: int) -> int:
        """The hash is the one that groups have."""
        return partition_for_group(key, count)


def transaction_settings(settings: BrokerSettings) -> TransactionSettings:
    return TransactionSettings(
        timeout_ms_max=settings["transaction.max.timeout.ms"],
        id_expiration_ms=settings["transactional.id.expiration.ms"],
        abort_interval_ms=settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
        expire_interval_ms=settings["transaction.remove.expired.transaction.cleanup.interval.ms"],
        two_phase=settings["transaction.two.phase.commit.enable"],
    )


def list_transactions(host: TransactionHost, wanted: Filter, reply: Answerable) -> Steps[None]:
    """Gather the ids that are asked for, and answer once all that was seen is committed."""
    shard, found = host.machine, ListTransactionsResponse()
    names = list(shard.table)
    for at in range(0, len(names), LISTED_PER_TURN_MAX):
        part = names[at : at + LISTED_PER_TURN_MAX]
        found.transaction_states += yield from listed(shard.table, part, wanted, host.now_ms)
        yield Pause()
    if host.driver is None or host.machine is not shard:
        host.answer(reply, ListTransactionsResponse(error_code=ErrorCode.NOT_COORDINATOR))
    else:
        host.run(lambda _: Result(replies=[(reply, found)]))
