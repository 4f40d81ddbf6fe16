"""Whether the processes before this one have left behind all that they had, though not all of them stopped cleanly.

What a process has Written survives its crash: the machine still has it, as long as that machine goes on. So every
process notes here, before it changes anything, during which boot of the machine it runs, and which processes it goes on
from. The next one finds in the metadata who was registered last. If that one stands in the note, and the machine was
not down since, nothing is lost, and the broker vouches for its logs as after a clean stop.

The note is written twice, and both must say so. The one in the folder goes where the folder goes: a copy that is put
back has the note of its time. The one outside of the disk can be taken back when the disk refuses everything.

Neither is synced: after a power loss they are of another boot, whatever they say.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from penstock.core.base.ports import File, FileFailure, Rename, RuntimeNote, Steps, Unlink
from penstock.core.log.checkpoints import read_file
from penstock.core.log.durable import write_anew
from penstock.core.log.names import TEMPORARY
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.storage import uuid_text
from penstock.core.node.membership.broker_lifecycle import NO_EPOCH

LINEAGE_FILE: Final = ".penstock_lineage"
ANCESTORS_MAX: Final = 100
"""Processes in a row that died before they were registered."""


class Note(NamedTuple):
    """During which boot, and which processes, from the oldest on that nothing was lost since."""

    boot_id: str | None = None
    names: tuple[str, ...] = ()

    def knows(self, name: str, boot_id: str | None) -> bool:
        return boot_id is not None and boot_id == self.boot_id and name in self.names


class Lineage:
    """The note of one data folder, and what this process makes of it."""

    def __init__(self, root: str, boot_id: str | None, incarnation: bytes, outside: RuntimeNote) -> None:
        """`boot_id` is the same as long as nothing that was Written to the folder can be lost; None if nobody knows.
        `outside` is where the second note is."""
        self._path = f"{root}/{LINEAGE_FILE}"
        self._boot_id = boot_id
        self._outside = outside
        self.incarnation = incarnation
        self._ancestors: tuple[str, ...] = ()
        self._known: BrokerImage | None = None
        self.is_doubtful = False
        """Whether nobody may vouch for what this process has written."""

    def begin(self, known: BrokerImage | None, clean_epoch: int) -> Steps[None]:
        """Read the notes and continue them. `known` is who was registered last. `clean_epoch` is what the mark of a
        clean stop says, which is still there: a process that dies between the two is vouched for by one of them."""
        inside, outside = _parse((yield from read_file(self._path))), _parse(self._outside.read())
        self._known = known
        if known is not None:
            name = uuid_text(known.incarnation)
            if inside.knows(name, self._boot_id) and outside.knows(name, self._boot_id):
                self._ancestors = inside.names[inside.names.index(name) :]
            elif known.epoch == clean_epoch:
                self._ancestors = (name,)
        yield from self._write()

    @property
    def previous_epoch(self) -> int:
        """With which epoch this process may say that the last one lost nothing; -1 if it may not."""
        return NO_EPOCH if self._known is None or not self._ancestors else self._known.epoch

    def cut(self) -> Steps[None]:
        """Recovery is about to cut off more than an append that was under way: what the processes before this one had
        is not all there. That must be known before it is done."""
        if self._ancestors:
            self._ancestors = ()
            yield from self._forget()
            yield from self._write()

    def doubt(self) -> Steps[None]:
        """The disk has failed to sync, or refuses everything: the system may have dropped what it could not write, and
        tells it only once. What is outside of the disk goes at once, whatever becomes of the rest."""
        self.is_doubtful = True
        yield from self._forget()

    def end(self) -> None:
        """This process has stopped cleanly, and the mark of that speaks for it from now on."""
        self._outside.remove()

    def _write(self) -> Steps[None]:
        if self._boot_id is None:
            yield from self._forget()
            return
        names = [*self._ancestors[-ANCESTORS_MAX:], uuid_text(self.incarnation)]
        note = {"version": 0, "bootId": self._boot_id, "incarnations": names}
        data = json.dumps(note, separators=(",", ":")).encode()
        file = File(self._path + TEMPORARY)
        try:
            yield from write_anew(file, data)
            yield Rename(file, self._path)
        except FileFailure:
            # The disk may be full. What stands in the old notes stays true, and this process does not stand in them.
            return
        if self.is_doubtful:
            yield from self._forget()
        else:
            self._outside.write(data)

    def _forget(self) -> Steps[None]:
        self._outside.remove()
        yield Unlink(File(self._path))


def _parse(data: bytes | None) -> Note:
    """Nothing where a note is missing or not whole."""
    try:
        noted = json.loads(data or b"")
        return Note(str(noted["bootId"]), tuple(str(name) for name in noted["incarnations"]))
    except (ValueError, KeyError, TypeError):
        return Note()
