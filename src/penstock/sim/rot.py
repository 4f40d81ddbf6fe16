"""Bit rot: which files of a machine's disk lose a bit, and where in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from penstock.core.log.names import METADATA_DIR, parse_folder
from penstock.sim.chance import Chance
from penstock.sim.disk import Disk
from penstock.sim.platter import Platter

TAIL_BYTES: Final = 400
"""What was written last: a process that was killed has not yet noted it as safe."""


class Spot(NamedTuple):
    """A file, and from where on it rots."""

    path: str
    position: int = 0


def _spots_in_logs(platter: Platter, root: str) -> Iterable[Spot]:
    """Anywhere in what partitions hold."""
    return (Spot(path) for path in _files(platter, root, (".log",)))


def _spots_in_tails(platter: Platter, root: str) -> Iterable[Spot]:
    """In what partitions were given last."""
    last = {path.rpartition("/")[0]: path for path in _files(platter, root, (".log",))}
    for path in last.values():
        yield Spot(path, max(len(platter.file(path).written) - TAIL_BYTES, 0))


def _spots_in_indexes(platter: Platter, root: str) -> Iterable[Spot]:
    return (Spot(path) for path in _files(platter, root, (".index", ".timeindex")))


def _spots_in_metadata(platter: Platter, root: str) -> Iterable[Spot]:
    """In the metadata log, and in its snapshots."""
    names = (entry.name for entry in platter.entries(f"{root}/{METADATA_DIR}") if not entry.is_dir and entry.size)
    return (Spot(f"{root}/{METADATA_DIR}/{name}") for name in names if name.endswith((".log", ".checkpoint")))


ROTTING: Final[Mapping[str, Callable[[Platter, str], Iterable[Spot]]]] = {
    "rot-log": _spots_in_logs,
    "rot-tail": _spots_in_tails,
    "rot-index": _spots_in_indexes,
    "rot-metadata": _spots_in_metadata,
}
"""By the kind of fault."""


def rot(disk: Disk, chance: Chance, root: str, kind: str, bits: int) -> Iterable[str]:
    """Flip so many bits, each in a file of its own choice. Gives the files."""
    for _ in range(bits):
        spots = list(ROTTING[kind](disk.volume.platter, root))
        if spots:
            yield disk.corrupt(*chance.pick(spots))


def _files(platter: Platter, root: str, endings: tuple[str, ...]) -> Iterable[str]:
    """In the folders of partitions, those that are not empty, in order."""
    for folder in platter.entries(root):
        if folder.is_dir and parse_folder(folder.name) is not None and folder.name != METADATA_DIR:
            for entry in platter.entries(f"{root}/{folder.name}"):
                if not entry.is_dir and entry.size and entry.name.endswith(endings):
                    yield f"{root}/{folder.name}/{entry.name}"
