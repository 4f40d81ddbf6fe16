"""Planted bugs of validation: mistakes in what is stored, in what is refused, and in when dead letters are answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.core.apis.pending_produce import PendingProduce
from penstock.core.node.schemas.dead_letters import DeadLetters
from penstock.core.partition.leader import Leader
from penstock.core.partition.schema_source import Diverting, Written
from penstock.core.partition.stage import Stage, Staged
from penstock.core.records import examine
from penstock.core.records.diverting import Diverted, Letter, divert
from penstock.core.records.examine import Wanted
from penstock.core.wire.api.produce import PartitionProduceResponse
from penstock.sim.planted import Patch


def _unknown_passes() -> list[Patch]:
    """A batch that names what is not known yet is taken."""

    def ask(self: Stage, wanted: Wanted, reading: list[Staged]) -> None:
        for staged in reading:
            staged.ready(self.leader, staged.records)
        self._go_on()

    return [(Stage, "_ask", ask)]


def _first_record_only() -> list[Patch]:
    """Of a batch only the first misfit is taken out."""
    return [(examine, "divert", lambda batch, rules, found: divert(batch, rules, found[:1]))]


def _answered_before_its_letters() -> list[Patch]:
    """A producer hears that all is well when what is left of its batch is committed."""

    def await_letters(self: PendingProduce, result: PartitionProduceResponse) -> None:
        return None

    return [(PendingProduce, "await_letters", await_letters)]


def _letters_come_once() -> list[Patch]:
    """A batch that comes again is taken to have brought its dead letters."""

    def write_again(self: DeadLetters, source: Diverting, base_offset: int, whole: Diverted, written: Written) -> None:
        written(None)

    return [(DeadLetters, "write_again", write_again)]


def _letters_forgotten() -> list[Patch]:
    """What could not be written at once is not written."""
    honest = DeadLetters.write

    def write(
        self: DeadLetters, source: Diverting, base_offset: int, letters: Sequence[Letter], written: Written
    ) -> None:
        written(None)
        honest(self, source, base_offset, letters, lambda error: None)

    return [(DeadLetters, "write", write)]


def _refused_though_taken() -> list[Patch]:
    """A batch that comes again is judged by the schemas there are now."""

    def has_taken(self: Leader, records: object) -> bool:
        return False

    return [(Leader, "has_taken", has_taken)]


VALIDATION_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "unknown passes": _unknown_passes,
    "first record only": _first_record_only,
    "answered before its letters": _answered_before_its_letters,
    "letters come once": _letters_come_once,
    "letters forgotten": _letters_forgotten,
    "refused though taken": _refused_though_taken,
}
