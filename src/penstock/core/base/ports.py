"""The ports: everything the synchronous core may ask of the world, as values.

The core never opens a file. It holds `File` values and asks for operations; what an operation promises is written
on it, because the simulator's disks keep exactly that promise and not a bit more:

- `Append` done means *Written*: the bytes survive a crash of the process, not of the machine.
- `Sync` done means *Synced*: what was written before it survives power loss.
- `Rename`, `Unlink` and the creation of a file survive power loss only after a `SyncDir` of their directory.
- `SyncTree` is a `Sync` of every file and a `SyncDir` of every directory below a path, at the price of a few.
- An operation that fails for want of a descriptor or of memory (`FileFailure.is_passing`) has done nothing.
- A failed `Append` may have left part of its bytes behind; a failed `Sync` is never repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from errno import EAGAIN, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENODEV, ENOMEM, ENOSPC, ENXIO, EROFS
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from penstock.core.base.values import frozen

Buffer = bytes | bytearray | memoryview
Done = Callable[[object], None]
PASSING: Final = (EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR)


class File:
    """A logical file. The shell opens it when first used, may close it again between uses, and closes it when nobody
    holds this value any longer."""

    __slots__ = ("__weakref__", "fd", "path", "pins")

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = -1
        self.pins = 0

    def __repr__(self) -> str:
        return f"File({self.path!r})"


class Slice:
    """A range of a file that a reply carries without the core ever reading it."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"Slice({self.file.path!r}, {self.position}, {self.length})"


class FileFailure(Exception):
    """An operation failed; `errno` says how."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message

    @property
    def lacks_room(self) -> bool:
        """Whether it may well succeed once something was removed."""
        return self.errno in (ENOSPC, EDQUOT)

    @property
    def is_passing(self) -> bool:
        """Whether nothing was done, for want of a descriptor or of memory: the same may succeed a moment later."""
        return self.errno in PASSING

    @property
    def is_disks_end(self) -> bool:
        """Whether a change that met this was refused by a disk that has failed, and takes no other one either."""
        return self.errno in (EIO, EROFS, ENXIO, ENODEV)


def found_no_room(outcome: object) -> bool:
    """Whether something was not done for want of room."""
    return isinstance(outcome, FileFailure) and outcome.lacks_room


@frozen
class Append:
    """Write at the current end of the file, creating it when missing; gives None once Written."""

    file: File
    data: Buffer


@frozen
class Read:
    """Give the bytes at a position, fewer where the file ends; a missing file fails with ENOENT."""

    file: File
    position: int
    length: int


@frozen
class Size:
    """Give the file's size in bytes, or None where there is no such file."""

    file: File


@frozen
class Sync:
    """Make everything written to the file so far survive power loss."""

    file: File


@frozen
class Truncate:
    """Cut the file to a size; a missing file fails with ENOENT."""

    file: File
    size: int


@frozen
class Rename:
    """Move the file to another path, replacing what is there; the `File` follows."""

    file: File
    path: str


@frozen
class Unlink:
    """Remove the file; a missing one is fine. Slices that pin it stay readable."""

    file: File


@frozen
class Entry:
    """One name in a directory."""

    name: str
    size: int
    is_dir: bool


@frozen
class ListDir:
    """Give the entries of a directory, sorted by name; a missing one fails with ENOENT."""

    path: str


@frozen
class MakeDir:
    """Make a directory and its parents; an existing one is fine."""

    path: str


@frozen
class RemoveDir:
    """Remove an empty directory; a missing one is fine."""

    path: str


@frozen
class RenameDir:
    """Move a directory with all it holds."""

    path: str
    new_path: str


@frozen
class SyncDir:
    """Make the names in a directory survive power loss."""

    path: str


@frozen
class SyncTree:
    """Make everything written below a directory so far, bytes and names, survive power loss."""

    path: str


@frozen
class FreeSpace:
    """Give (free, total) bytes of the disk that holds a path."""

    path: str


@frozen
class Pause:
    """Let others run: a long computation asks for this about every 2 ms of work."""


@frozen
class Together:
    """Perform operations that do not depend on each other (no reads and no jobs), in any order or at once; gives the
    list of their results, in which a failure is a value. One way to a thread and back serves many of them."""

    ops: Sequence[FileOp]


class JobFiles(Protocol):
    """What a job may touch: plain blocking calls, in a worker process or in the simulator's disk."""

    def size(self, path: str) -> int: ...
    def read(self, path: str, position: int, length: int) -> bytes: ...
    def append(self, path: str, data: Buffer) -> None: ...
    def sync(self, path: str) -> None: ...
    def unlink(self, path: str) -> None: ...


@frozen
class Job:
    """Per-record work for a worker process: an importable function of (JobFiles, *args), picklable both ways."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


@frozen
class RunJob:
    """Run a job elsewhere; gives its return value. `is_awaited`: somebody waits for it, so it does not stand in line
    with those that keep house for minutes."""

    job: Job
    is_awaited: bool = False


FileOp = (
    Append
    | Read
    | Size
    | Sync
    | Truncate
    | Rename
    | Unlink
    | ListDir
    | MakeDir
    | RemoveDir
    | RenameDir
    | SyncDir
    | SyncTree
    | FreeSpace
    | Pause
    | Together
    | RunJob
)

T = TypeVar("T")
Steps = Generator[FileOp, Any, T]


class Later:
    """The type of `LATER`: the answer comes in a later event."""

    def __repr__(self) -> str:
        return "LATER"


LATER: Final = Later()


class Files(Protocol):
    """The disk as the core sees it."""

    def append(self, file: File, parts: Sequence[Buffer], done: Done) -> bool:
        """Append on the hot path, one part behind the other. True: Written already, and `done` is not called. False:
        `done(None)` or `done(FileFailure)` comes in a later event, in order per file, once for all parts. The memory
        of the parts may be reused at once either way."""
        ...

    def perform(self, op: FileOp, done: Done) -> object:
        """Give the operation's result, or a `FileFailure` as a value, or `LATER` and then call `done` with either."""
        ...


class RuntimeNote(Protocol):
    """A few bytes outside of the disk, for one data folder: they survive the process, and not the boot of its machine.
    No call fails; what could not be written is not there."""

    def read(self) -> bytes | None: ...
    def write(self, data: bytes) -> None: ...
    def remove(self) -> None: ...


class NoNote:
    """A machine that has no such place."""

    def read(self) -> bytes | None:
        return None

    def write(self, data: bytes) -> None: ...
    def remove(self) -> None: ...


class Entropy(Protocol):
    """Chance, given from outside so that a seed can replay it."""

    def bytes(self, count: int) -> bytes: ...


class Wire(Protocol):
    """One outgoing connection."""

    def send(self, parts: Sequence[Buffer]) -> None:
        """Send parts in order, once the connection is open. The world holds what the peer does not read yet, so whoever
        asks must wait for answers before it asks more."""
        ...

    def close(self) -> None:
        """Hang up, whatever is unsent. No event comes after this; what has left may still arrive."""
        ...

    def reset(self) -> None:
        """Hang up, and take back whatever has not arrived."""
        ...


class WireEvents(Protocol):
    """The near end of an outgoing connection. Each call is one event, in a turn of its own."""

    def opened(self) -> None:
        """The peer has taken the connection."""
        ...

    def received(self, data: memoryview) -> None:
        """Some bytes came, cut anywhere; they are overwritten after the call."""
        ...

    def lost(self, refused: bool) -> None:
        """The connection is over, or never came to be. `refused`: the machine is there and nobody listens; otherwise
        nothing is known of the peer."""
        ...


class Network(Protocol):
    """The way to other nodes."""

    def dial(self, host: str, port: int, events: WireEvents, listener: str = "") -> Wire:
        """Begin to connect. What comes of it is told in later events, never in this one. `listener` names the one that
        is called, whose settings say whether the wire is encrypted; without it, it is only looked whether somebody
        listens."""
        ...


class Signature(NamedTuple):
    """Of a token, to be checked: `key_id` is the name of the key, if the token says one."""

    algorithm: str
    key_id: str | None
    signed: bytes
    signature: bytes


class SigningKeys(Protocol):
    """The keys of those who make tokens, as they are now."""

    def refusal(self, listener: str, signature: Signature) -> str | None:
        """Why a signature is not one of those whom a listener trusts, or None if it is."""
        ...


class NoKeys:
    """Nobody is trusted."""

    def refusal(self, listener: str, signature: Signature) -> str | None:
        return "there are no keys"
