"""Planted bugs that damage shows: on a rotten disk, and by clients that mean harm."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from penstock.core.base import ports
from penstock.core.base.ports import Buffer, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.groups.member_memory import MemberMemory
from penstock.core.log import reader
from penstock.core.log.census import ProducerCensus
from penstock.core.log.damage import Damage, cut_anyway
from penstock.core.log.log import Log
from penstock.core.log.scan import Located, walk_to
from penstock.core.log.segment import Segment
from penstock.core.metadata.image import TopicImage
from penstock.core.node.serving import dispatching
from penstock.core.node.serving.limits import UNLIMITED, Limits
from penstock.core.node.storage.disk_trouble import DiskTrouble
from penstock.core.node.storage.replicas import Replicas
from penstock.core.records import validate
from penstock.core.records.batch import BatchHeader
from penstock.core.records.validate import NeedsReading, Rules
from penstock.core.wire.api_table import APIS
from penstock.core.wire.frames import RequestHeader, parse_request_header
from penstock.sim.planted import Patch

_api_key = Struct(">h")


def _damage_cut_in_silence() -> list[Patch]:
    """Recovery ends a log where a batch does not check, whatever the reason, and says nothing."""

    def damage_found(self: DiskTrouble, damage: Damage) -> Steps[None]:
        yield from cut_anyway(damage)

    return [(DiskTrouble, "damage_found", damage_found)]


def _damage_deleted() -> list[Patch]:
    """A log that is damaged is thrown away with all that is whole in it, for another one that is empty."""
    honest = Replicas._mend

    def mend(self: Replicas, topic: TopicImage, settings: TopicSettings, now_ms: int) -> Steps[None]:
        for name, index in list(self._directory.offline):
            if name == topic.name:
                self._directory.discard_offline((name, index), settings)
        yield from honest(self, topic, settings, now_ms)

    return [(Replicas, "_mend", mend)]


def _index_believed() -> list[Patch]:
    """Readers go where an index sends them, whatever is there."""

    def locate(log: Log, segment: Segment, offset: int) -> Steps[Located | None]:
        entry = yield from segment.offsets.find(offset)
        return (yield from walk_to(segment.log, entry.position if entry else 0, log.written_bytes(segment), offset))

    return [(reader, "locate", locate)]


def _lies_believed() -> list[Patch]:
    """A leader takes a batch whose checksum is right, whatever its header says."""

    def refuse(records: memoryview, header: BatchHeader, rules: Rules, version: int, now_ms: int) -> None:
        if (refusal := validate._frame_refusal(records, header, version)) is not None:
            raise refusal
        if rules.reads_records:
            raise NeedsReading(header)

    return [(validate, "_refuse", refuse)]


def _noise_unexpected() -> list[Patch]:
    """Nobody thought of a client that asks for an API there is not."""

    def parse(frame: Buffer) -> RequestHeader:
        if len(frame) >= _api_key.size:
            APIS[_api_key.unpack_from(frame)[0]]
        return parse_request_header(frame)

    return [(dispatching, "parse_request_header", parse)]


def _elements_uncounted() -> list[Patch]:
    """A request may have as many elements as it has room for."""
    return [(Limits, "elements_max", lambda self, key: UNLIMITED)]


def _lack_taken_for_failure() -> list[Patch]:
    """What finds no descriptor has failed, and a sync that failed is the end of the disk."""
    return [(ports, "PASSING", ())]


def _producers_kept_for_ever() -> list[Patch]:
    """Whoever has written once is remembered, however many these are."""
    return [(ProducerCensus, "grew", lambda self, log: None)]


def _members_say_what_they_like() -> list[Patch]:
    """Whatever members say of themselves is kept, however much it is in all."""
    return [(MemberMemory, "admits", lambda self, size_bytes, growth_bytes, now_ms: True)]


ROT_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "damage cut in silence": _damage_cut_in_silence,
    "damage deleted": _damage_deleted,
    "index believed": _index_believed,
}
SHORTAGE_BUGS: dict[str, Callable[[], list[Patch]]] = {"lack taken for failure": _lack_taken_for_failure}
HOSTILE_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "lies believed": _lies_believed,
    "noise unexpected": _noise_unexpected,
    "elements uncounted": _elements_uncounted,
    "producers kept for ever": _producers_kept_for_ever,
    "members say what they like": _members_say_what_they_like,
}
